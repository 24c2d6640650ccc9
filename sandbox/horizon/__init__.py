"""Horizon's API over the network: routes, resources, errors, paging and submission."""

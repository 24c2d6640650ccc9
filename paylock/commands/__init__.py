"""The subcommands of `paylock`, one module each; every module exposes its click command as `command`."""

# The image of the pods, the migration Job and the operators' commands. Runs as an ordinary user on a read-only root.
FROM debian:trixie-slim AS build

RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv
WORKDIR /source
COPY requirements-build.txt requirements-image.txt ./
# Two environments: the tools that build stay in this stage, what runs is copied to the next.
RUN python3 -m venv /build \
    && python3 -m venv --without-pip /opt/paylock \
    && /build/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-build.txt \
    && /build/bin/pip --python /opt/paylock/bin/python install --no-cache-dir --require-hashes \
        --only-binary :all: -r requirements-image.txt
COPY pyproject.toml ./
COPY db db
COPY notifier notifier
COPY paylock paylock
COPY sandbox sandbox
RUN /build/bin/pip wheel --no-cache-dir --no-deps --no-index --no-build-isolation --wheel-dir /wheel . \
    && /build/bin/pip --python /opt/paylock/bin/python install --no-cache-dir --no-deps --no-index /wheel/*.whl \
    && find /opt/paylock -depth -type d \( -name tests -o -name test \) -exec rm -r {} +


FROM debian:trixie-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
COPY --from=build /opt/paylock /opt/paylock
ENV PATH=/opt/paylock/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /
EXPOSE 8080
ENTRYPOINT ["paylock"]
CMD ["--help"]

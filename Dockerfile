# syntax=docker/dockerfile:1
# Cuebase in a container: docker build -t cuebase . && docker run -p 8080:8080 -p 8081:8081 -v cuebase:/data cuebase
# The first start prints an API key and a link to the dashboard: docker logs CONTAINER

# A fixed path, so that the same source results in the same binary.
FROM rust:1.95-bookworm AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libclang-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /cuebase
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/target \
    CARGO_TARGET_DIR=/target sh scripts/release.sh /out --binary-only && mkdir -m 700 /data

# glibc and libstdc++, no shell, no package manager; user 65532.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /out/cuebase /usr/local/bin/cuebase
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
# Inside the container, the server listens on all addresses; `docker run -p` selects what is reachable from outside. Set
# the two public URLs if the ports are published under other addresses.
ENV CUEBASE_DATA=/data \
    CUEBASE_LISTEN=0.0.0.0:8080 \
    CUEBASE_DASHBOARD_LISTEN=0.0.0.0:8081 \
    CUEBASE_SERVER_PUBLIC_URL=http://localhost:8080 \
    CUEBASE_DASHBOARD_PUBLIC_URL=http://localhost:8081
VOLUME /data
EXPOSE 8080 8081
# On a stop, running requests are finished for up to server.shutdown_ms, 30 s by default: docker stop --timeout 40
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["/usr/local/bin/cuebase", "health"]
ENTRYPOINT ["/usr/local/bin/cuebase"]
CMD ["serve"]

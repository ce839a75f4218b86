# fencepost in a container, as a user without rights.
#
#   docker build --tag fencepost .                       models, mock, brokers at an address
#   docker build --tag fencepost --build-arg JAVA=17 .   Kafkas that it starts itself, too
#
# tests/big_install.py runs these steps where no container can be built.
FROM python:3.12-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist .

FROM python:3.12-slim-bookworm
ARG JAVA=""
RUN if [ -n "$JAVA" ]; then \
      apt-get update && \
      apt-get install --yes --no-install-recommends "openjdk-$JAVA-jre-headless" maven && \
      rm -rf /var/lib/apt/lists/*; \
    fi
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(echo /dist/*.whl)[mock,prove]"
RUN useradd --create-home --uid 10001 fencepost && install -d -o fencepost /cache /data
USER fencepost
ENV FENCEPOST_CACHE=/cache
WORKDIR /data
ENTRYPOINT ["fencepost"]
CMD ["--help"]

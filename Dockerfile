# Peerveil for platforms: the commands with every extra, as an ordinary user. docs/platforms.md says how to run it.
ARG PYTHON=3.13

FROM python:${PYTHON}-slim-bookworm AS wheel
WORKDIR /source
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:${PYTHON}-slim-bookworm
# Signatures are made with OpenSSH.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openssh-client \
 && rm -rf /var/lib/apt/lists/*
COPY --from=wheel /wheel /wheel
COPY constraints.txt /wheel/
RUN set -- /wheel/*.whl \
 && python -m pip install --no-cache-dir --constraint /wheel/constraints.txt "$1[all]" \
 && rm -rf /wheel
# What must outlive a container: the secret key, and charged releases that were interrupted. Mount a volume here.
RUN useradd --create-home --uid 10001 peerveil \
 && install --directory --owner peerveil --group peerveil --mode 0700 /state /work
ENV PEERVEIL_KEY_FILE=/state/key \
    PEERVEIL_STATE_DIR=/state/pending \
    PYTHONUNBUFFERED=1
VOLUME /state
USER 10001
WORKDIR /work
ENTRYPOINT ["peerveil"]
CMD ["--help"]

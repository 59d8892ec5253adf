# Draftscope in a container: port 7860, user 1000. It runs on the CPU unless the container is given a GPU.
#   docker build -t draftscope .                                              # torch 2.13, runs on the CPU
#   docker build -t draftscope --build-arg TORCH="torch>=2.9,<2.16" .         # newest CUDA build; run with --gpus all
# Pip's own PIP_EXTRA_INDEX_URL build argument takes PyTorch's index of CPU wheels for a small image.
FROM python:3.12-slim

ARG TORCH="torch==2.13.0"
ARG PIP_EXTRA_INDEX_URL=""

RUN useradd --create-home --uid 1000 user
USER user
ENV HOME=/home/user \
    PATH=/home/user/.local/bin:$PATH \
    HF_HOME=/home/user/.cache/huggingface \
    HF_HUB_DISABLE_TELEMETRY=1 \
    GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    GRADIO_ANALYTICS_ENABLED=False \
    TOKENIZERS_PARALLELISM=false \
    PYTHONUNBUFFERED=1
WORKDIR /home/user/draftscope

COPY --chown=user requirements.txt requirements.lock ./
RUN pip install --no-cache-dir --user "${TORCH}" && pip install --no-cache-dir --user --no-deps --require-hashes -r requirements.lock

COPY --chown=user engine engine
COPY --chown=user app app
COPY --chown=user assets assets
COPY --chown=user presets presets
COPY --chown=user docs/results docs/results
COPY --chown=user docs/methods docs/methods

EXPOSE 7860
HEALTHCHECK --start-period=60s CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:7860/healthz', timeout=3)"
CMD ["python", "-m", "app", "--public"]

# docker build -t transformer-viz .                                       CPU
# docker build -t transformer-viz --build-arg REQUIREMENTS=requirements-gpu.txt .   NVIDIA; run with --gpus all
# docker run --rm -p 127.0.0.1:8501:8501 -v models:/app/models -v runs:/app/runs --read-only --tmpfs /tmp \
#     --cap-drop ALL --security-opt no-new-privileges transformer-viz
# For a class, with a reverse proxy and a password: compose.yaml
FROM python:3.12-slim-bookworm AS build
ARG REQUIREMENTS=requirements.txt
WORKDIR /app
COPY requirements*.txt ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r "$REQUIREMENTS"

FROM python:3.12-slim-bookworm
ENV PATH=/venv/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 TRANSFORMER_VIZ_LOG=-
WORKDIR /app
COPY --from=build /venv /venv
COPY .streamlit .streamlit
COPY app.py LICENSE requirements.in ./
COPY transformer_viz transformer_viz
COPY --chown=10001:10001 models models
RUN install -d -o 10001 -g 10001 runs
USER 10001:10001
VOLUME ["/app/models", "/app/runs"]
EXPOSE 8501
# The first answer waits for TensorFlow. A busy engine is given the time of its longest question.
HEALTHCHECK --interval=30s --start-period=60s --timeout=35s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/health')"]
# Inside the container every address is the container's own; `-p 127.0.0.1:...` above keeps it on this machine.
CMD ["streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.headless=true"]

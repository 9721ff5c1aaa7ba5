# docker build -t transformer-viz .                                       CPU
# docker build -t transformer-viz --build-arg REQUIREMENTS=requirements-gpu.txt .   NVIDIA; run with --gpus all
# docker run --rm -p 127.0.0.1:8501:8501 -v models:/app/models transformer-viz
FROM python:3.12-slim AS build
ARG REQUIREMENTS=requirements.txt
WORKDIR /app
COPY requirements*.txt ./
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir -r "$REQUIREMENTS"

FROM python:3.12-slim
ENV PATH=/venv/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /app
COPY --from=build /venv /venv
COPY .streamlit .streamlit
COPY app.py LICENSE ./
COPY transformer_viz transformer_viz
COPY --chown=10001:10001 models models
USER 10001
EXPOSE 8501
HEALTHCHECK --interval=10s --start-period=20s --timeout=3s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health')"]
# Inside the container every address is the container's own; `-p 127.0.0.1:...` above keeps it on this machine.
CMD ["streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.headless=true"]

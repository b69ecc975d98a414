# The image of update jobs on Kubernetes and SageMaker: the trainer and what it needs, pinned by hash. From the repository's root:
#
#   docker build -f infra/deploy/trainer.Dockerfile -t REGISTRY/longhaul-trainer:1 trainer
#
# PyTorch's wheels bring CUDA's libraries; of the node only its driver is used. It runs under any user id and writes to /tmp alone, so that
# everything is compiled here: a job that had to would take five more seconds of a processor to start.
FROM python:3.11-slim
COPY requirements.txt /opt/trainer/
RUN pip install --no-cache-dir --require-hashes -r /opt/trainer/requirements.txt
COPY longhaul_trainer /opt/trainer/longhaul_trainer
ENV PYTHONPATH=/opt/trainer PYTHONUNBUFFERED=1 HOME=/tmp
WORKDIR /tmp
ENTRYPOINT ["python", "-m", "longhaul_trainer"]

from sagemaker.pytorch import PyTorch

estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type="ml.p3.16xlarge",
    instance_count=2,
    hyperparameters={"batch-size": 64, "epochs": 20},
    distribution={"smdistributed": {"dataparallel": {"enabled": True, "custom_mpi_options": "-x NCCL_DEBUG=VERSION"}}},
)

from sagemaker.pytorch import PyTorch

instance_type = "ml.p3.16xlarge"
instance_count = 2

estimator = PyTorch(
    entry_point="train.py",
    role=role,
    instance_type=instance_type,
    instance_count=instance_count,
    hyperparameters={"batch-size": 256, "epochs": 30},
    distribution={
        "smdistributed": {
            "modelparallel": {
                "enabled": True,
                "parameters": {
                    "partitions": 2,
                    "microbatches": 8,
                    "optimize": "speed",
                    "placement_strategy": "cluster",
                    "pipeline": "interleaved",
                    "auto_partition": True,
                    "ddp": True,
                },
            }
        },
        "mpi": {"enabled": True, "processes_per_host": 8},
    },
)

import sagemaker
parts = 2 * 1 + 0
smp = dict(enabled=True, parameters={"partitions": parts, "microbatches": 4, "placement_strategy": "PTD", "ddp": True, **{"tensor_parallel_degree": 2}})
smp["parameters"]["sharded_data_parallel_degree"] = 2
for each in [1, (2, 3)]: each = r"a\"" 'b'
job = PyTorch(entry_point='train.py', instance_type="ml.p3.16xlarge", hyperparameters={"batch-size": 8, "lr": -1e-3}, distribution={"smdistributed": {"modelparallel": smp}, "mpi": {"enabled": True, "processes_per_host": 8}})

// The libraries that stand in for CUDA's, unless the environment names others: tests can be run without a word of it.
#include <cstdlib>

namespace {
[[maybe_unused]] const bool set = [] {
  ::setenv("NPAR_CUDA_DRIVER", NPAR_STANDIN_CUDA, 0);
  ::setenv("NPAR_NCCL", NPAR_STANDIN_CUDA, 0);
  ::setenv("NPAR_CUDNN", NPAR_STANDIN_CUDNN_FILE, 0);
  ::setenv("NPAR_CUBLASLT", NPAR_STANDIN_CUBLASLT, 0);
  ::setenv("NPAR_STANDIN_DEVICES", NPAR_STANDIN_COUNT, 0);
  return true;
}();
} // namespace

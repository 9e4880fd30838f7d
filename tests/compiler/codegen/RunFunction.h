// Runs a func.func of nn ops through outlining and generated code: launches natively, products by three plain loops.
#pragma once

#include "compiler/codegen/Codegen.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <cstring>
#include <string>
#include <vector>

namespace npar::codegen {

/// A tensor's bytes.
struct Buffer {
  std::vector<uint8_t> bytes;
  Buffer() = default;
  template <typename T> Buffer(const std::vector<T> &values) : bytes(values.size() * sizeof(T)) {
    if (!values.empty())
      std::memcpy(bytes.data(), values.data(), bytes.size());
  }
  template <typename T> std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty())
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

/// `tensor<4x7xf32, #nn.axes<batch, seq>>` from "batch=4 seq=7", "f32".
std::string tensorText(const std::string &axes, const std::string &element);

class CompiledFunction {
public:
  /// The text of a module with one func.func, or of a function's body when it does not begin with "module".
  explicit CompiledFunction(const std::string &text);
  ~CompiledFunction();
  bool ok() const { return valid; }
  /// Returns the function's results. `context` = step, micro, seed, coordinates. `split` cuts each extent in that many ranges.
  std::vector<Buffer> run(const std::vector<Buffer> &arguments, std::vector<int64_t> context = {0, 0, 1}, int64_t split = 1);
  /// The function's only launch, ready to run again and again on buffers of its own.
  struct Launch {
    std::vector<Buffer> buffers;
    std::vector<void *> pointers;
    void (*kernel)(void *const *, const int64_t *, int64_t, int64_t) = nullptr;
    int64_t extent = 0;
    void run() const {
      const int64_t context[] = {0, 0, 1};
      kernel(pointers.data(), context, 0, extent);
    }
  };
  Launch prepare();
  int64_t kernels = 0, launches = 0, products = 0;
  std::string printed;

private:
  using Kernel = void (*)(void *const *, const int64_t *, int64_t, int64_t);
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  void *library = nullptr;
  int file = -1;
  bool valid = false;
};

} // namespace npar::codegen

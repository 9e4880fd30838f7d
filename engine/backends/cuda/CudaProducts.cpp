// The matrix products of a program on a GPU: kernels for its kinds, launches for its batches.
#include "engine/backends/cuda/CudaProducts.h"

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cuda/Ptx.h"
#include "engine/program/Elements.h"

#include <algorithm>

namespace npar::engine::cuda {

namespace {
/// Blocks of a launch in its second and third direction.
constexpr int64_t mostBlocks = 65535;

int64_t tilesOf(int64_t size) { return (size + productTile - 1) / productTile; }
} // namespace

Status CudaProducts::load(const program::Program &program, CudaDevice &given) {
  device = &given;
  std::vector<std::string> names, texts;
  std::vector<size_t> kernelOf;
  for (uint32_t i = 0; program.matmuls() && i < program.matmuls()->size(); ++i) {
    const program::Matmul &m = *program.matmuls()->Get(i);
    std::string sizes = std::to_string(m.m()) + "x" + std::to_string(m.n()) + "x" + std::to_string(m.k());
    if (Status status = add(m, "matrix product " + std::to_string(i) + " (" + sizes + ")"); !status.ok())
      return status;
    ProductKind kind{m.type(), m.result(), m.accumulate()};
    auto found = std::find(names.begin(), names.end(), kind.name());
    kernelOf.push_back(static_cast<size_t>(found - names.begin()));
    if (found == names.end()) {
      names.push_back(kind.name());
      texts.push_back(productText(kind));
    }
  }
  if (names.empty())
    return {};
  Result<std::vector<Handle>> functions = given.load(moduleText(texts), "kernels of matrix products", names);
  if (!functions.ok())
    return functions.status();
  for (size_t i = 0; i < products.size(); ++i)
    products[i].function = (*functions)[kernelOf[i]];
  return {};
}

Status CudaProducts::add(const program::Matmul &m, const std::string &what) {
  if (Result<ProductType> type = productType(m.type()); !type.ok())
    return Status::badInput(what + " " + type.status().message());
  if (m.m() < 1 || m.n() < 1 || m.k() < 1)
    return Status::badInput(what + " is empty");
  if (std::max({m.m(), m.n(), m.k()}) > int64_t{1} << 30 || tilesOf(m.m()) > mostBlocks)
    return Status::badInput(what + " is larger than a GPU's launch");
  if ((m.a_row() != 1 && m.a_column() != 1) || (m.b_row() != 1 && m.b_column() != 1))
    return Status::badInput(what + ": neither the row nor the column stride of an operand is 1");
  if (m.a_batch()->size() != m.batch()->size() || m.b_batch()->size() != m.batch()->size() || m.c_batch()->size() != m.batch()->size())
    return Status::badInput(what + ": its batch strides do not match its batch list");
  Product product;
  product.parameters = {0, 0, 0, m.m(), m.n(), m.k(), m.a_row(), m.a_column(), m.b_row(), m.b_column(), m.c_row(), {}};
  product.bytes = static_cast<int64_t>(program::sizeOf(m.type())), product.resultBytes = static_cast<int64_t>(program::sizeOf(m.result()));
  product.words = what;
  size_t used = 0;
  for (uint32_t i = m.batch()->size(); i-- > 0;) {
    Loop loop{m.batch()->Get(i), m.a_batch()->Get(i), m.b_batch()->Get(i), m.c_batch()->Get(i)};
    if (used < productLoops && product.outer.empty() && product.inner * loop.size <= mostBlocks) {
      product.parameters.loops[used++] = {loop.size, loop.a, loop.b, loop.c};
      product.inner *= loop.size;
    } else {
      product.outer.insert(product.outer.begin(), loop);
    }
  }
  products.push_back(std::move(product));
  return {};
}

void CudaProducts::start(uint32_t index, DevicePointer a, DevicePointer b, DevicePointer c, ThreadWork &work) const {
  const Product &product = products[index];
  Handle stream = work.begin();
  int64_t launches = 1;
  for (const Loop &loop : product.outer)
    launches *= loop.size;
  for (int64_t launch = 0; stream && launch < launches; ++launch) {
    ProductParameters parameters = product.parameters;
    parameters.a = a, parameters.b = b, parameters.c = c;
    int64_t rest = launch;
    for (size_t i = product.outer.size(); i-- > 0; rest /= product.outer[i].size) {
      auto at = rest % product.outer[i].size;
      parameters.a += static_cast<uint64_t>(at * product.outer[i].a * product.bytes);
      parameters.b += static_cast<uint64_t>(at * product.outer[i].b * product.bytes);
      parameters.c += static_cast<uint64_t>(at * product.outer[i].c * product.resultBytes);
    }
    auto *numbers = reinterpret_cast<uint64_t *>(&parameters);
    void *pointers[productParameterCount];
    for (int i = 0; i < productParameterCount; ++i)
      pointers[i] = numbers + i;
    Code code = device->cuda().call().launchKernel(product.function, static_cast<unsigned>(tilesOf(parameters.n)),
                                                   static_cast<unsigned>(tilesOf(parameters.m)), static_cast<unsigned>(product.inner),
                                                   productThreads, 1, 1, 0, stream, pointers, nullptr);
    work.note(code, product.words);
  }
}

} // namespace npar::engine::cuda

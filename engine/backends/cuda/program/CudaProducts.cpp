// The matrix products of a program on a GPU: kernels for its kinds, launches for its batches.
#include "engine/backends/cuda/program/CudaProducts.h"

#include "engine/backends/cpu/BatchLoops.h"
#include "engine/backends/cuda/driver/LaunchWords.h"
#include "engine/backends/cuda/program/KernelTexts.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <numeric>

namespace npar::engine::cuda {

namespace {

int64_t tilesOf(int64_t size) { return (size + productTile - 1) / productTile; }

using Alignments = std::array<uint32_t, 3>;

/// Returns the alignment in bytes of A, B and C of each product: the largest that holds in every step with that product.
std::vector<Alignments> alignmentsOf(const program::Program &program) {
  std::vector<Alignments> all(program.matmuls()->size(), Alignments{64, 64, 64}); // arenas, slots and regions
  if (!program.classes())
    return all;
  for (const program::RankClass *rankClass : *program.classes())
    for (const program::Fragment *fragment : *rankClass->fragments())
      for (const program::Step *step : *fragment->steps())
        for (uint32_t i = 0; step->kind() == program::StepKind::Matmul && i < 3; ++i) {
          uint32_t &alignment = all[step->payload()][i];
          alignment = static_cast<uint32_t>(std::gcd(uint64_t{alignment}, fragment->operands()->Get(step->first_operand() + i)->offset()));
        }
  return all;
}
} // namespace

Result<ProductsBy> productsBy(const std::string &word) {
  if (word == "own")
    return ProductsBy::Own;
  if (word == "matching")
    return ProductsBy::Matching;
  if (word == "library")
    return ProductsBy::Library;
  return Status::badInput("unknown kind of products '" + word + "': own, matching and library exist");
}

Status CudaProducts::load(const program::Program &program, CudaDevice &given, ProductsBy by) {
  device = &given;
  KernelTexts texts;
  std::vector<std::string> names; // of each product's kernel
  for (uint32_t i = 0; program.matmuls() && i < program.matmuls()->size(); ++i) {
    const program::Matmul &m = *program.matmuls()->Get(i);
    std::string sizes = std::to_string(m.m()) + "x" + std::to_string(m.n()) + "x" + std::to_string(m.k());
    if (Status status = add(m, "matrix product " + std::to_string(i) + " (" + sizes + ")"); !status.ok())
      return status;
    ProductKind kind{m.type(), m.result(), m.accumulate(), m.tf32(), m.grouping(), m.windowed() ? walkKind(*m.windowed()) : WalkKind()};
    texts.add(kind, productText);
    names.push_back(kind.name());
  }
  if (names.empty())
    return {};
  Result<KernelEntries> entries = texts.load(given, "kernels of matrix products");
  if (!entries.ok())
    return entries.status();
  for (size_t i = 0; i < products.size(); ++i)
    products[i].function = entries->at(names[i]);
  return by == ProductsBy::Own ? Status() : planLibrary(program, by);
}

Status CudaProducts::add(const program::Matmul &m, const std::string &what) {
  if (Result<ProductType> type = productType(m, program::ProductOrder::Portable); !type.ok())
    return Status::badInput(what + " " + type.status().message());
  if (m.m() < 1 || m.n() < 1 || m.k() < 1)
    return Status::badInput(what + " is empty");
  if (std::max({m.m(), m.n(), m.k()}) > int64_t{1} << 30 || tilesOf(m.windowed() ? m.n() : m.m()) > mostBlocks)
    return Status::badInput(what + " is larger than a GPU's launch");
  if (!m.windowed() && ((m.a_row() != 1 && m.a_column() != 1) || (m.b_row() != 1 && m.b_column() != 1)))
    return Status::badInput(what + ": neither the row nor the column stride of an operand is 1");
  if (m.a_batch()->size() != m.batch()->size() || m.b_batch()->size() != m.batch()->size() || m.c_batch()->size() != m.batch()->size())
    return Status::badInput(what + ": its batch strides do not match its batch list");
  Product product;
  product.parameters = {0, 0, 0, 0, 0, m.m(), m.n(), m.k(), m.a_row(), m.a_column(), m.b_row(), m.b_column(), m.c_row(), {}};
  product.bytes = static_cast<int64_t>(program::sizeOf(m.type())), product.resultBytes = static_cast<int64_t>(program::sizeOf(m.result()));
  product.words = what;
  setLoops(product, m);
  if (m.windowed())
    product.walks = walkedLaunches(m);
  if (product.inner > mostBlocks)
    return Status::badInput(what + " has more samples or groups than a GPU's launch has blocks");
  products.push_back(std::move(product));
  return {};
}

void CudaProducts::setLoops(Product &product, const program::Matmul &m) {
  bool isGrouped = m.grouping() != program::Grouping::None;
  size_t used = 0;
  for (uint32_t i = m.batch()->size(); i-- > 0;) {
    Loop loop{m.batch()->Get(i), m.a_batch()->Get(i), m.b_batch()->Get(i), m.c_batch()->Get(i)};
    if (isGrouped || (used < productLoops && product.outer.empty() && product.inner * loop.size <= mostBlocks)) {
      product.parameters.loops[used++] = {loop.size, loop.a, loop.b, loop.c};
      product.inner *= loop.size;
    } else {
      product.outer.insert(product.outer.begin(), loop);
    }
  }
  // The kernel walks the other one.
  if (isGrouped)
    product.inner = m.batch()->Get(m.grouping() == program::Grouping::Rows ? 0 : 1);
}

Status CudaProducts::planLibrary(const program::Program &program, ProductsBy by) {
  Result<std::unique_ptr<LibraryProducts>> opened = LibraryProducts::open(*device);
  if (!opened.ok())
    return opened.status();
  library = std::move(*opened);
  std::vector<Alignments> alignments = alignmentsOf(program);
  for (uint32_t i = 0; i < products.size(); ++i)
    if (Status status = planLibrary(products[i], *program.matmuls()->Get(i), alignments[i], by == ProductsBy::Matching); !status.ok())
      return status;
  library->saveChoices();
  return {};
}

/// The longest loop of the batch is the library's own, the others are launches. Grouped and walked products remain npar's own.
Status CudaProducts::planLibrary(Product &product, const program::Matmul &m, Alignments alignments, bool onlyOwnBits) {
  if (m.grouping() != program::Grouping::None || m.windowed())
    return {};
  std::vector<Loop> loops;
  for (uint32_t i = 0; i < m.batch()->size(); ++i)
    if (m.batch()->Get(i) > 1)
      loops.push_back({m.batch()->Get(i), m.a_batch()->Get(i), m.b_batch()->Get(i), m.c_batch()->Get(i)});
  Loop own{1, 0, 0, 0};
  auto longest = std::max_element(loops.begin(), loops.end(), [](const Loop &x, const Loop &y) { return x.size < y.size; });
  if (longest != loops.end() && longest->size <= mostBlocks) {
    own = *longest;
    loops.erase(longest);
  }
  for (const Loop &loop : loops) {
    std::array<int64_t, 3> apart = {loop.a * product.bytes, loop.b * product.bytes, loop.c * product.resultBytes};
    for (size_t i = 0; i < 3; ++i)
      alignments[i] = static_cast<uint32_t>(std::gcd(int64_t{alignments[i]}, apart[i]));
  }
  std::optional<LibraryShape> shape = libraryShape(m, alignments);
  if (!shape || own.a < 0 || own.b < 0 || own.c < 0)
    return {};
  shape->count = own.size, shape->a.stride = own.a, shape->b.stride = own.b, shape->c.stride = own.c;
  Product tried = product;
  tried.outer.clear(), tried.inner = own.size;
  tried.parameters.loops = {};
  tried.parameters.loops[0] = {own.size, own.a, own.b, own.c};
  auto ownProduct = [&](DevicePointer a, DevicePointer b, DevicePointer c, Handle stream) { return launch(tried, {a, b, c}, stream); };
  Result<const LibraryProducts::Plan *> plan = library->plan(*shape, ownProduct, onlyOwnBits, product.words);
  if (!plan.ok())
    return plan.status();
  product.plan = *plan, product.around = std::move(loops);
  return {};
}

std::vector<std::string> CudaProducts::remarks() const {
  if (!library)
    return {};
  std::vector<std::string> said = library->remarks();
  size_t taken = 0, ownBits = 0;
  for (const Product &product : products) {
    taken += product.plan ? 1 : 0;
    ownBits += product.plan && product.plan->choice.ownBits ? 1 : 0;
  }
  auto number = [](uint64_t value) { return std::to_string(value); };
  said.push_back("cuBLASLt " + library->version() + " has " + number(taken) + " of " + number(products.size()) + " matrix products, " +
                 number(ownBits) + " of them with the bits of npar's own, and " + number(workspaceBytes()) +
                 " bytes of workspace for each rank here");
  return said;
}

Code CudaProducts::launch(const Product &product, const ProductAddresses &operands, Handle stream) const {
  ProductParameters parameters = product.parameters;
  parameters.a = operands.a, parameters.b = operands.b, parameters.c = operands.c;
  parameters.first = operands.first, parameters.last = operands.last;
  return device->cuda().call().launchKernel(product.function, static_cast<unsigned>(tilesOf(parameters.n)),
                                            static_cast<unsigned>(tilesOf(parameters.m)), static_cast<unsigned>(product.inner),
                                            productThreads, 1, 1, 0, stream, LaunchWords(parameters).pointers(), nullptr);
}

Code CudaProducts::launchWalks(const Product &product, const ProductAddresses &operands, Handle stream) const {
  for (const WalkedLaunch &walk : *product.walks) {
    WalkedProductParameters parameters = walk.parameters;
    ProductParameters &p = parameters.product;
    p.a = operands.a + static_cast<uint64_t>(walk.a), p.b = operands.b + static_cast<uint64_t>(walk.b);
    p.c = operands.c + static_cast<uint64_t>(walk.c), p.loops = product.parameters.loops;
    Code code = device->cuda().call().launchKernel(product.function, static_cast<unsigned>(tilesOf(p.m)),
                                                   static_cast<unsigned>(tilesOf(p.n)), static_cast<unsigned>(product.inner),
                                                   productThreads, 1, 1, 0, stream, LaunchWords(parameters).pointers(), nullptr);
    if (code != Code::Success)
      return code;
  }
  return Code::Success;
}

void CudaProducts::start(uint32_t index, ProductAddresses operands, ThreadWork &work) const {
  const Product &product = products[index];
  const std::vector<Loop> &loops = product.plan ? product.around : product.outer;
  Handle stream = work.begin();
  int64_t launches = 1;
  for (const Loop &loop : loops)
    launches *= loop.size;
  for (int64_t number = 0; stream && number < launches; ++number) {
    ProductAddresses here = operands;
    int64_t rest = number;
    for (size_t i = loops.size(); i-- > 0; rest /= loops[i].size) {
      auto at = rest % loops[i].size;
      here.a += static_cast<uint64_t>(at * loops[i].a * product.bytes);
      here.b += static_cast<uint64_t>(at * loops[i].b * product.bytes);
      here.c += static_cast<uint64_t>(at * loops[i].c * product.resultBytes);
    }
    if (product.plan)
      library->start(*product.plan, here.a, here.b, here.c, work, product.words);
    else
      work.note(product.walks ? launchWalks(product, here, stream) : launch(product, here, stream), product.words);
  }
}

} // namespace npar::engine::cuda

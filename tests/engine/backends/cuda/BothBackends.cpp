// The same work on the processor and on a GPU, from the same bytes.
#include "tests/engine/backends/cuda/BothBackends.h"

#include "engine/backends/Backends.h"
#include "engine/program/Elements.h"

#include <gtest/gtest.h>

namespace npar::testing {

using namespace engine;
using program::ElementType;

const char *wordOf(ElementType type) {
  const char *words[] = {"f32", "f64", "bf16", "f16", "i32", "u8"};
  const ElementType types[] = {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16, ElementType::I32, ElementType::U8};
  for (size_t i = 0; i < std::size(types); ++i)
    if (types[i] == type)
      return words[i];
  return "";
}

BothBuffer::BothBuffer(ElementType type, size_t count, uint64_t seed, bool special) : type(type), bytes(count * program::sizeOf(type)) {
  std::mt19937_64 random(seed);
  fillBuffer(described(), reinterpret_cast<uint8_t *>(bytes.data()), random, 100, special);
}

cuda::KernelBuffer BothBuffer::described() const { return {wordOf(type), bytes.size() / program::sizeOf(type)}; }

std::unique_ptr<Backend> makeBackend(const char *name, const char *products, const char *attention) {
  Result<std::unique_ptr<Backend>> backend = createBackend(name, {}, products, attention);
  EXPECT_TRUE(backend.ok()) << backend.status().message();
  backend.ok() ? (*backend)->enterThread() : void();
  return backend.ok() ? std::move(*backend) : nullptr;
}

std::vector<BothBuffer> after(Backend &backend, std::vector<BothBuffer> all, const BackendWork &work) {
  std::vector<DeviceAddress> places;
  for (BothBuffer &one : all) {
    places.push_back(*backend.allocateOn(places.size() % backend.devices(), one.bytes.size()));
    backend.copyIn(places.back(), one.bytes.data(), one.bytes.size());
  }
  work(backend, places);
  for (size_t i = 0; i < all.size(); ++i)
    backend.copyOut(all[i].bytes.data(), places[i], all[i].bytes.size());
  EXPECT_TRUE(waitUntilDone(backend).ok());
  for (size_t i = 0; i < all.size(); ++i)
    backend.release(places[i], all[i].bytes.size());
  return all;
}

void expectSameBits(std::vector<BothBuffer> &left, std::vector<BothBuffer> &right, const std::string &what) {
  for (size_t i = 0; i < left.size(); ++i)
    EXPECT_EQ(countDifferences(left[i].described(), reinterpret_cast<uint8_t *>(left[i].bytes.data()),
                               reinterpret_cast<uint8_t *>(right[i].bytes.data())),
              0u)
        << what << ", buffer " << i;
}

} // namespace npar::testing

// Converts integers in place: both types have eight bytes.
#include "engine/checkpoint/CountsAsFloats.h"

#include <cmath>
#include <cstring>

namespace npar::engine {

namespace {

class Converted final : public TensorStore {
public:
  Converted(std::shared_ptr<const TensorStore> store, const std::set<std::string> &names)
      : store(std::move(store)), names(names), entries(this->store->tensors()) {
    for (const std::string &name : names)
      entries[name].type = "F64";
  }
  const std::string &description() const override { return store->description(); }
  const std::map<std::string, StoreEntry> &tensors() const override { return entries; }
  std::vector<std::string> paths() const override { return store->paths(); }
  Status compareHashes(const std::vector<std::string> &stored) const override { return store->compareHashes(stored); }

  Status read(const std::string &name, uint64_t first, uint64_t count, uint8_t *bytes) const override {
    Status status = store->read(name, first, count, bytes);
    if (!status.ok() || names.count(name) == 0)
      return status;
    static_assert(sizeof(int64_t) == sizeof(double));
    for (uint64_t i = 0; i < count; ++i) {
      int64_t number;
      std::memcpy(&number, bytes + i * sizeof number, sizeof number);
      const auto value = static_cast<double>(number);
      std::memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
    return {};
  }

private:
  std::shared_ptr<const TensorStore> store;
  std::set<std::string> names;
  std::map<std::string, StoreEntry> entries;
};

} // namespace

bool isCount(double value) { return std::fabs(value) <= 0x1p53 && std::trunc(value) == value; }

bool writeCounts(const double *values, uint64_t count, uint8_t *bytes) {
  bool good = true;
  for (uint64_t i = 0; i < count; ++i) {
    const bool isGood = isCount(values[i]);
    const int64_t number = isGood ? static_cast<int64_t>(values[i]) : 0;
    std::memcpy(bytes + i * sizeof number, &number, sizeof number);
    good &= isGood;
  }
  return good;
}

std::shared_ptr<const TensorStore> countsAsFloats(std::shared_ptr<const TensorStore> store, const std::set<std::string> &names) {
  return std::make_shared<const Converted>(std::move(store), names);
}

} // namespace npar::engine

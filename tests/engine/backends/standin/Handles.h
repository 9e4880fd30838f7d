// Handles that point nowhere and are never given out twice, so that one that was destroyed is known as such.
#pragma once

#include "tests/engine/backends/standin/CudaAbi.h"

#include <map>
#include <memory>

namespace npar::standin {

/// A handle that no other has.
Handle newHandle();

template <typename Object> class Handles {
public:
  Handle add(std::shared_ptr<Object> object) {
    Handle handle = newHandle();
    objects.emplace(handle, std::move(object));
    return handle;
  }
  /// Null for what is no handle of this kind, or no longer.
  std::shared_ptr<Object> find(Handle handle) const {
    auto found = objects.find(handle);
    return found == objects.end() ? nullptr : found->second;
  }
  bool remove(Handle handle) { return objects.erase(handle) == 1; }
  template <typename Condition> void removeIf(Condition condition) {
    for (auto next = objects.begin(); next != objects.end();) {
      auto one = next++;
      if (condition(*one->second))
        objects.erase(one);
    }
  }
  const std::map<Handle, std::shared_ptr<Object>> &all() const { return objects; }

private:
  std::map<Handle, std::shared_ptr<Object>> objects;
};

} // namespace npar::standin

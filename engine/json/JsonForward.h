// Names npar's JSON types for headers that need no more than the names; Json.h completes them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace npar {

/// Converts types as nlohmann-json does. It makes the types below npar's own, so that Json.h can define some of their functions.
template <typename T, typename Enable> struct JsonSerializer;

/// JSON whose members are sorted by name.
using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t, double, std::allocator, JsonSerializer>;

/// JSON whose members keep the order in which they were added.
using OrderedJson =
    nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, double, std::allocator, JsonSerializer>;

} // namespace npar

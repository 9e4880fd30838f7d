// Reads and writes the JSON header of safetensors files as a stream of events: duplicates are seen and nesting costs nothing.
#include "engine/checkpoint/Safetensors.h"
#include "engine/logging/Json.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

namespace npar::engine {

namespace {

using Json = nlohmann::json;

/// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key": "text"}}
class HeaderReader {
public:
  std::map<std::string, StoredTensor> table;
  std::string wrong;

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("a boolean"); }
  bool number_integer(int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string &) { return unexpected("a fraction"); }
  bool binary(Json::binary_t &) { return unexpected("binary data"); }

  bool number_unsigned(uint64_t value) {
    if (depth != 2 || metadata || !inArray || value > uint64_t(std::numeric_limits<int64_t>::max()))
      return unexpected("the number " + std::to_string(value));
    (field == "shape" ? current.shape : offsets).push_back(static_cast<int64_t>(value));
    return current.shape.size() <= 64 && offsets.size() <= 2 ? true
                                                             : fail("tensor " + quotedName(name) + " has too long a list '" + field + "'");
  }
  bool string(std::string &value) {
    if (depth == 2 && metadata)
      return true;
    if (depth != 2 || inArray || field != "dtype")
      return unexpected("a string");
    current.type = value;
    return true;
  }
  bool start_object(size_t) {
    if (depth == 2 || inArray)
      return unexpected("an object");
    ++depth;
    if (depth == 2)
      current = {}, offsets.clear(), fields.clear();
    return true;
  }
  bool key(std::string &value) {
    if (depth == 1) {
      name = value;
      metadata = value == "__metadata__";
      if (table.count(name) || (metadata && sawMetadata))
        return fail(quotedName(name) + " appears twice");
      sawMetadata |= metadata;
      return true;
    }
    field = value;
    if (metadata)
      return true;
    if (field != "dtype" && field != "shape" && field != "data_offsets")
      return fail("tensor " + quotedName(name) + " has an unknown field " + quotedName(field));
    if (std::find(fields.begin(), fields.end(), field) != fields.end())
      return fail("tensor " + quotedName(name) + " has field '" + field + "' twice");
    fields.push_back(field);
    return true;
  }
  bool end_object() {
    --depth;
    if (depth != 1 || metadata)
      return true;
    if (fields.size() != 3 || offsets.size() != 2)
      return fail("tensor " + quotedName(name) + " lacks one of dtype, shape and two data_offsets");
    current.begin = static_cast<uint64_t>(offsets[0]), current.end = static_cast<uint64_t>(offsets[1]);
    table.emplace(name, current);
    return true;
  }
  bool start_array(size_t) {
    if (depth != 2 || metadata || inArray || field == "dtype")
      return unexpected("a list");
    return inArray = true;
  }
  bool end_array() {
    inArray = false;
    return true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) {
    return fail("no valid JSON at byte " + std::to_string(position));
  }

private:
  bool fail(const std::string &what) {
    if (wrong.empty())
      wrong = what;
    return false;
  }
  bool unexpected(const std::string &what) {
    return fail(name.empty() ? "it begins with " + what : what + " is not expected in the entry " + quotedName(name));
  }
  int depth = 0;
  bool metadata = false, sawMetadata = false, inArray = false;
  std::string name, field;
  std::vector<std::string> fields;
  std::vector<int64_t> offsets;
  StoredTensor current;
};

/// 0 when unknown.
uint64_t bytesOf(const std::string &type) {
  static const std::map<std::string, uint64_t> sizes = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                                                        {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                                                        {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

std::string checkTensor(const std::string &name, const StoredTensor &tensor, uint64_t dataBytes) {
  std::string which = "tensor " + quotedName(name);
  uint64_t bytes = bytesOf(tensor.type);
  if (bytes == 0)
    return which + " has an unknown type " + quotedName(tensor.type);
  for (int64_t size : tensor.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes))
      return which + " has an impossible shape " + shapeText(tensor.shape);
  if (tensor.begin > tensor.end || tensor.end > dataBytes)
    return which + " lies at bytes " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) + " of " +
           std::to_string(dataBytes);
  if (tensor.end - tensor.begin != bytes)
    return which + " has " + std::to_string(tensor.end - tensor.begin) + " bytes, its shape " + shapeText(tensor.shape) + " of " +
           tensor.type + " needs " + std::to_string(bytes);
  return "";
}

} // namespace

uint64_t StoredTensor::elements() const {
  uint64_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<uint64_t>(size);
  return count;
}

std::string quotedName(const std::string &name) {
  std::string text = "'";
  for (unsigned char c : name) {
    char escaped[5];
    std::snprintf(escaped, sizeof(escaped), "\\x%02x", c);
    text += c < 0x20 || c == 0x7f ? std::string(escaped) : std::string(1, static_cast<char>(c));
  }
  return text + "'";
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Result<std::map<std::string, StoredTensor>> parseSafetensorsHeader(const char *text, size_t size, uint64_t dataBytes) {
  HeaderReader reader;
  // nlohmann's scanner throws nothing here: errors go to parse_error.
  bool good = Json::sax_parse(text, text + size, &reader);
  if (!good || !reader.wrong.empty())
    return Status::badInput("its header is wrong: " + (reader.wrong.empty() ? "no valid JSON" : reader.wrong));
  std::vector<std::pair<uint64_t, const std::pair<const std::string, StoredTensor> *>> order;
  for (const auto &entry : reader.table) {
    if (std::string wrong = checkTensor(entry.first, entry.second, dataBytes); !wrong.empty())
      return Status::badInput("its header is wrong: " + wrong);
    if (entry.second.end > entry.second.begin)
      order.emplace_back(entry.second.begin, &entry);
  }
  // Tensors that begin at one place stay in the order of their names.
  std::stable_sort(order.begin(), order.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  uint64_t end = 0; // of the tensors before
  for (size_t i = 0; i <= order.size(); ++i) {
    uint64_t begin = i < order.size() ? order[i].first : dataBytes;
    if (begin < end)
      return Status::badInput("its header is wrong: tensors " + quotedName(order[i - 1].second->first) + " and " +
                              quotedName(order[i].second->first) + " overlap");
    if (begin > end)
      return Status::badInput("its header is wrong: bytes " + std::to_string(end) + " to " + std::to_string(begin) + " of " +
                              std::to_string(dataBytes) + " belong to no tensor");
    end = i < order.size() ? order[i].second->second.end : end;
  }
  return std::move(reader.table);
}

std::string safetensorsHeader(std::vector<std::pair<std::string, StoredTensor>> &tensors) {
  uint64_t at = 0;
  std::string json = "{\"__metadata__\":{\"format\":\"pt\"}";
  for (auto &[name, tensor] : tensors) {
    tensor.begin = at;
    at += tensor.elements() * bytesOf(tensor.type);
    tensor.end = at;
    json += "," + jsonString(name) + ":{\"dtype\":\"" + tensor.type + "\",\"shape\":" + shapeText(tensor.shape) + ",\"data_offsets\":[" +
            std::to_string(tensor.begin) + "," + std::to_string(tensor.end) + "]}";
  }
  json += "}";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  uint64_t length = json.size();
  std::string header(8, '\0');
  for (int i = 0; i < 8; ++i)
    header[static_cast<size_t>(i)] = static_cast<char>(length >> (8 * i));
  return header + json;
}

} // namespace npar::engine

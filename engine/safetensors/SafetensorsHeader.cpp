// Reads the JSON header of safetensors files as a stream of events: duplicates are seen and nesting costs nothing.
#include "engine/json/Json.h"
#include "engine/safetensors/CountedText.h"
#include "engine/safetensors/Safetensors.h"
#include "engine/safetensors/StoredType.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace npar::engine {

namespace {

constexpr size_t mostTensors = 1'000'000, mostWords = 100'000, mostDimensions = 64;

/// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"key": "text"}}
class HeaderReader {
public:
  explicit HeaderReader(uint64_t dataBytes) : dataBytes(dataBytes) {}
  SafetensorsHeader header;
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
    return (current.shape.size() <= mostDimensions && offsets.size() <= 2) || fail(which() + " has too long a list '" + field + "'");
  }
  bool string(std::string &value) {
    if (depth == 2 && metadata)
      return header.metadata.emplace(field, value).second || fail("metadata " + quotedName(field) + " appears twice");
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
      if (header.tensors.count(name) || (metadata && sawMetadata))
        return fail(quotedName(name) + " appears twice");
      sawMetadata |= metadata;
      return header.tensors.size() < mostTensors || fail("it has more than " + std::to_string(mostTensors) + " tensors");
    }
    field = value;
    if (metadata)
      return header.metadata.size() < mostWords || fail("it has more than " + std::to_string(mostWords) + " words of metadata");
    if (field != "dtype" && field != "shape" && field != "data_offsets")
      return fail(which() + " has an unknown field " + quotedName(field));
    if (std::find(fields.begin(), fields.end(), field) != fields.end())
      return fail(which() + " has field '" + field + "' twice");
    fields.push_back(field);
    return true;
  }
  bool end_object() {
    --depth;
    if (depth != 1 || metadata)
      return true;
    if (fields.size() != 3 || offsets.size() != 2)
      return fail(which() + " lacks one of dtype, shape and two data_offsets");
    current.begin = static_cast<uint64_t>(offsets[0]), current.end = static_cast<uint64_t>(offsets[1]);
    if (std::string problem = problemOf(current); !problem.empty())
      return fail(which() + " " + problem);
    header.tensors.emplace(name, current);
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
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) { return fail("no valid JSON"); }

private:
  bool fail(const std::string &what) {
    wrong = what;
    return false;
  }
  bool unexpected(const std::string &what) {
    return fail(name.empty() ? "it begins with " + what : what + " is not expected in the entry " + quotedName(name));
  }
  std::string which() const { return "tensor " + quotedName(name); }
  std::string problemOf(const StoredTensor &tensor) const {
    Result<uint64_t> bytes = bytesOfTensor(tensor.type, tensor.shape);
    if (!bytes.ok())
      return bytes.status().message();
    if (tensor.begin > tensor.end || tensor.end > dataBytes)
      return "is at bytes " + std::to_string(tensor.begin) + " to " + std::to_string(tensor.end) + " of " + std::to_string(dataBytes);
    if (tensor.end - tensor.begin != *bytes)
      return "has " + std::to_string(tensor.end - tensor.begin) + " bytes, its shape " + shapeText(tensor.shape) + " of " + tensor.type +
             " needs " + std::to_string(*bytes);
    return "";
  }

  uint64_t dataBytes;
  int depth = 0;
  bool metadata = false, sawMetadata = false, inArray = false;
  std::string name, field;
  std::vector<std::string> fields;
  std::vector<int64_t> offsets;
  StoredTensor current;
};

/// Describes where the tensors leave a gap, overlap or contain each other. Empty if they fill the data one after the other.
std::string problemOfOrder(const std::map<std::string, StoredTensor> &tensors, uint64_t dataBytes) {
  std::vector<const std::pair<const std::string, StoredTensor> *> order;
  order.reserve(tensors.size());
  for (const auto &entry : tensors)
    order.push_back(&entry);
  // An empty tensor precedes one that begins at the same byte. Tensors with the same place keep the order of their names.
  std::stable_sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  uint64_t end = 0; // of the tensors before
  for (size_t i = 0; i <= order.size(); ++i) {
    uint64_t begin = i < order.size() ? order[i]->second.begin : dataBytes;
    if (begin < end)
      return "tensors " + quotedName(order[i - 1]->first) + " and " + quotedName(order[i]->first) + " overlap at byte " +
             std::to_string(begin) + " of " + std::to_string(dataBytes);
    if (begin > end)
      return "bytes " + std::to_string(end) + " to " + std::to_string(begin) + " of " + std::to_string(dataBytes) + " belong to no tensor";
    end = i < order.size() ? order[i]->second.end : end;
  }
  return "";
}

} // namespace

uint64_t StoredTensor::elements() const {
  uint64_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<uint64_t>(size);
  return count;
}

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Result<uint64_t> bytesOfTensor(const std::string &type, const std::vector<int64_t> &shape) {
  const StoredType *found = findStoredType(type);
  if (!found)
    return Status::badInput("has an unknown type " + quotedName(type));
  uint64_t bits = found->bits;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bits, static_cast<uint64_t>(size), &bits))
      return Status::badInput("has an impossible shape " + shapeText(shape));
  if (bits % 8)
    return Status::badInput("has a shape " + shapeText(shape) + " of " + type + " that fills no whole number of bytes");
  return bits / 8;
}

Result<SafetensorsHeader> parseSafetensorsHeader(const char *text, size_t size, uint64_t dataBytes) {
  constexpr size_t prefix = 8; // of the file, before the header
  auto failure = [&](const std::string &where, const std::string &what) {
    return Status::badInput("its header is wrong" + where + ": " + what);
  };
  if (size == 0 || *text != '{')
    return failure(" at byte " + std::to_string(prefix), "it must begin with '{'");
  // The scanner takes a zero byte for the end of the text.
  if (const void *zero = std::memchr(text, 0, size))
    return failure(" at byte " + std::to_string(prefix + static_cast<size_t>(static_cast<const char *>(zero) - text)), "no valid JSON");
  HeaderReader reader(dataBytes);
  const char *reached = text;
  // nlohmann's scanner throws nothing here: errors go to parse_error.
  bool good = Json::sax_parse(CountedText{text, &reached}, CountedText{text + size, &reached}, &reader);
  if (!good)
    return failure(" at byte " + std::to_string(prefix + static_cast<size_t>(reached - text)), reader.wrong);
  if (std::string problem = problemOfOrder(reader.header.tensors, dataBytes); !problem.empty())
    return failure("", problem);
  return std::move(reader.header);
}

} // namespace npar::engine

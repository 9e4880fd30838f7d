// Reads a manifest without trust: first the tree and its format, then every field, then whether the pieces fit together.
#include "engine/checkpoint/Manifest.h"

#include "engine/checkpoint/JsonTree.h"
#include "engine/checkpoint/OwnFiles.h"
#include "engine/files/AtomicFile.h"
#include "engine/files/StreamHash.h"
#include "engine/readable/Printable.h"
#include "engine/safetensors/Safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <sys/stat.h>

namespace npar::engine {

namespace {

constexpr uint64_t largestCount = uint64_t{1} << 53; ///< of steps and samples: sums of a few do not overflow
constexpr size_t trailerBytes = sizeof("\"xxh3\":\"0123456789abcdef0123456789abcdef\"}\n") - 1;

/// Takes fields out of objects; remembers the first that is wrong, and gives something harmless in its place.
class Fields {
public:
  std::string wrong;

  const Json &get(const Json &object, const char *name, Json::value_t type) {
    static const Json none;
    auto found = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || found == object.end()) {
      fail("it lacks '" + std::string(name) + "'");
      return none;
    }
    bool number = type == Json::value_t::number_float && found->is_number(), null = type == Json::value_t::null;
    if (found->type() != type && !number && !null) {
      fail("'" + std::string(name) + "' is not a " + wordOf(type));
      return none;
    }
    return *found;
  }
  uint64_t number(const Json &object, const char *name) {
    const Json &value = get(object, name, Json::value_t::number_unsigned);
    return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
  }
  std::string text(const Json &object, const char *name, size_t longest = 4096) {
    const Json &value = get(object, name, Json::value_t::string);
    if (!value.is_string())
      return "";
    const std::string &result = value.get_ref<const std::string &>();
    if (result.size() > longest)
      fail("'" + std::string(name) + "' is longer than " + std::to_string(longest) + " bytes");
    return result.substr(0, longest);
  }
  /// A number that may be null, as what is not finite is.
  std::optional<double> real(const Json &object, const char *name) {
    const Json &value = get(object, name, Json::value_t::null);
    if (!value.is_null() && !value.is_number())
      fail("'" + std::string(name) + "' is not a number");
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  }
  std::vector<int64_t> sizes(const Json &object, const char *name) {
    std::vector<int64_t> result;
    const Json &value = get(object, name, Json::value_t::array);
    if (value.size() > 64)
      fail("'" + std::string(name) + "' has more than 64 dimensions");
    for (const Json &each : value)
      if (!each.is_number_unsigned() || each.get<uint64_t>() > uint64_t(INT64_MAX))
        fail("'" + std::string(name) + "' is not a list of sizes");
      else if (result.size() < 64)
        result.push_back(each.get<int64_t>());
    return result;
  }
  std::vector<std::string> texts(const Json &object, const char *name, const std::string &what) {
    std::vector<std::string> result;
    for (const Json &each : get(object, name, Json::value_t::array))
      if (each.is_string())
        result.push_back(each.get<std::string>());
      else
        fail(what + " is not a string");
    return result;
  }
  std::string hash(const Json &object, const char *name) {
    std::string value = text(object, name, 32);
    if (wrong.empty() && (value.size() != 32 || value.find_first_not_of("0123456789abcdef") != std::string::npos))
      fail("'" + std::string(name) + "' is not a hash of 32 hex digits");
    return value;
  }
  /// Calls read(element) for each object of a list.
  template <typename Read> void each(const Json &object, const char *name, Read read) {
    for (const Json &value : get(object, name, Json::value_t::array)) {
      if (!wrong.empty())
        return;
      read(value);
    }
  }
  void fail(const std::string &what) {
    if (wrong.empty())
      wrong = where.empty() ? what : where + ": " + what;
  }
  std::string where; ///< the beginning of the error message

private:
  static std::string wordOf(Json::value_t type) {
    return type == Json::value_t::string   ? "text"
           : type == Json::value_t::array  ? "list"
           : type == Json::value_t::object ? "object"
                                           : "number";
  }
};

/// The product of sizes and of `unit` when it and all before stay below 2^63.
bool multiplies(const std::vector<int64_t> &sizes, uint64_t unit) {
  // A zero among them hides nothing: the others must have a product too.
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(unit, std::max<uint64_t>(1, static_cast<uint64_t>(size)), &unit) || unit > uint64_t(INT64_MAX))
      return false;
  return true;
}

void readPiece(Fields &fields, const Json &json, const ManifestTensor &tensor, size_t files, ManifestPiece &piece) {
  piece.file = static_cast<uint32_t>(std::min<uint64_t>(fields.number(json, "file"), UINT32_MAX));
  if (piece.file >= files)
    fields.fail("a piece is in file number " + std::to_string(piece.file) + " of " + std::to_string(files));
  piece.tensor = fields.text(json, "tensor");
  piece.start = fields.sizes(json, "start"), piece.shape = fields.sizes(json, "shape");
  piece.begin = fields.number(json, "begin"), piece.end = fields.number(json, "end");
  piece.hash = fields.hash(json, "xxh3");
  if (piece.start.size() != tensor.shape.size() || piece.shape.size() != tensor.shape.size())
    return fields.fail("a piece has another number of dimensions than " + shapeText(tensor.shape));
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    if (piece.shape[d] == 0 || piece.start[d] > tensor.shape[d] || piece.shape[d] > tensor.shape[d] - piece.start[d])
      return fields.fail("the piece " + shapeText(piece.shape) + " at " + shapeText(piece.start) + " is not inside " +
                         shapeText(tensor.shape));
}

void readTensor(Fields &fields, const Json &json, size_t files, ManifestTensor &tensor) {
  tensor.name = fields.text(json, "name");
  fields.where = "tensor " + quotedName(tensor.name);
  tensor.kind = fields.text(json, "kind", 64), tensor.of = fields.text(json, "of"), tensor.slot = fields.text(json, "slot");
  tensor.type = fields.text(json, "type", 16);
  tensor.shape = fields.sizes(json, "shape"), tensor.stored = fields.sizes(json, "stored");
  uint64_t unit = bytesOfType(tensor.type);
  if (unit == 0)
    fields.fail("unknown type " + quotedName(tensor.type));
  else if (!multiplies(tensor.shape, unit) || !multiplies(tensor.stored, unit))
    fields.fail("impossible shape " + shapeText(tensor.shape) + " or " + shapeText(tensor.stored));
  else if (tensor.elements() != elementsOf(tensor.stored))
    fields.fail("shape " + shapeText(tensor.shape) + " has another number of elements than the stored one, " + shapeText(tensor.stored));
  fields.each(json, "pieces", [&](const Json &each) { readPiece(fields, each, tensor, files, tensor.pieces.emplace_back()); });
  if (fields.wrong.empty())
    if (std::string wrong = wrongPieces(tensor); !wrong.empty())
      fields.fail(wrong);
  fields.where.clear();
}

void readFile(Fields &fields, const Json &json, bool isText, std::set<std::string> &names, ManifestFile &file) {
  file.name = fields.text(json, "name");
  if (!isFileName(file.name, isText))
    fields.fail("file name " + quotedName(file.name) + " is not allowed: it must stay in the folder");
  if (!names.insert(file.name).second || file.name == Manifest::fileName)
    fields.fail("file " + quotedName(file.name) + " occurs twice");
  file.bytes = fields.number(json, "bytes");
  if (isText)
    file.hash = fields.hash(json, "xxh3");
}

void readPosition(Fields &fields, const Json &json, DataPosition &position) {
  position.stream = fields.text(json, "stream"), position.order = fields.text(json, "order");
  position.samples = fields.number(json, "samples"), position.epoch = fields.number(json, "epoch");
  position.epochSamples = fields.number(json, "epoch_samples"), position.batch = fields.number(json, "batch");
  if (std::max({position.samples, position.epochSamples, position.batch}) > largestCount)
    fields.fail("the position in stream " + quotedName(position.stream) + " is beyond 2^53");
  if (json.is_object() && json.contains("classes")) // of pictures in folders; manifests of earlier versions lack it
    for (const std::string &name : fields.texts(json, "classes", "a class"))
      position.classes.push_back(readable::printableName(name)); // as npar wrote it; a forged one must not forge lines of output
}

void readCall(Fields &fields, const Json &json, std::set<std::string> &names, ModelCall &call) {
  call.text = fields.text(json, "text"), call.plan = fields.text(json, "plan"), call.train = fields.text(json, "train");
  call.config = fields.text(json, "config");
  call.settings = fields.texts(json, "settings", "a setting"), call.others = fields.texts(json, "other_settings", "a setting");
  if (json.is_object() && json.contains("weights")) // of trainings that began with some; manifests of earlier versions lack it
    call.weights = readable::printableName(fields.text(json, "weights"));
  if (json.is_object() && json.contains("weights_parts")) // of trainings that began with some
    for (const std::string &part : fields.texts(json, "weights_parts", "a part"))
      call.parts.push_back(readable::printableName(part));
  if (json.is_object() && json.contains("tuned_settings")) // manifests of earlier versions lack it
    call.tuned = fields.texts(json, "tuned_settings", "a setting");
  fields.each(json, "texts", [&](const Json &each) { readFile(fields, each, true, names, call.texts.emplace_back()); });
  if (!call.text.empty() && fields.wrong.empty() && !names.count("model/" + call.text))
    fields.fail("the model's text " + quotedName(call.text) + " is not among its texts");
}

/// Compares the hash at the end with that of the text before it.
bool hasOwnHash(const std::string &text) {
  size_t hashed = text.size() - std::min(text.size(), trailerBytes);
  return text.substr(hashed) == "\"xxh3\":\"" + files::hashText(text.data(), hashed) + "\"}\n";
}

Manifest readFields(Fields &fields, const Json &json) {
  Manifest manifest;
  manifest.model = fields.text(json, "model"), manifest.plan = fields.text(json, "plan"), manifest.train = fields.text(json, "train");
  manifest.modelHash = fields.hash(json, "model_hash"), manifest.planHash = fields.hash(json, "plan_hash");
  manifest.compute = fields.text(json, "compute", 16);
  if (json.contains("products")) // manifests of earlier versions lack it
    manifest.products = fields.text(json, "products", 16);
  uint64_t world = 1;
  fields.each(json, "mesh", [&](const Json &each) {
    manifest.mesh.push_back({fields.text(each, "axis"), fields.number(each, "size")});
    if (manifest.mesh.back().size == 0 || __builtin_mul_overflow(world, manifest.mesh.back().size, &world) || world > uint64_t(INT64_MAX))
      fields.fail("the mesh has an impossible size");
  });
  manifest.step = fields.number(json, "step"), manifest.seed = fields.number(json, "seed");
  if (manifest.step > largestCount)
    fields.fail("step " + std::to_string(manifest.step) + " is beyond 2^53");
  fields.each(json, "data", [&](const Json &each) { readPosition(fields, each, manifest.data.emplace_back()); });
  manifest.rateSteps = fields.number(json, "learning_rate_steps");
  manifest.rate = fields.real(json, "learning_rate").value_or(0);
  manifest.lossScale = fields.real(json, "loss_scale");
  std::set<std::string> names, tensors;
  readCall(fields, fields.get(json, "call", Json::value_t::object), names, manifest.call);
  fields.each(json, "files", [&](const Json &each) { readFile(fields, each, false, names, manifest.files.emplace_back()); });
  fields.each(json, "tensors", [&](const Json &each) {
    readTensor(fields, each, manifest.files.size(), manifest.tensors.emplace_back());
    if (!tensors.insert(manifest.tensors.back().name).second)
      fields.fail("tensor " + quotedName(manifest.tensors.back().name) + " occurs twice");
  });
  return manifest;
}

} // namespace

Result<Manifest> parseManifest(const std::string &text, const std::string &name) {
  auto failure = [&](const std::string &why) {
    return Status::badInput("checkpoint '" + name + "': its " + Manifest::fileName + " is wrong: " + why);
  };
  Result<Json> tree = parseJsonTree(text);
  if (!tree.ok())
    return failure(tree.status().message());
  Fields fields;
  if (fields.text(*tree, "format") != "npar checkpoint")
    return failure(fields.wrong.empty() ? "its 'format' must be 'npar checkpoint'" : fields.wrong);
  uint64_t version = fields.number(*tree, "version");
  if (fields.wrong.empty() && version > Manifest::version)
    return Status::badInput("checkpoint '" + name + "' has format " + std::to_string(version) + ", which " +
                            quotedName(fields.text(*tree, "read_by")) + " reads; this npar reads format " +
                            std::to_string(Manifest::version));
  if (!fields.wrong.empty() || version != Manifest::version)
    return failure(fields.wrong.empty() ? "there is no format " + std::to_string(version) : fields.wrong);
  if (!hasOwnHash(text))
    return failure("its hash does not match its text: it was damaged or edited");
  Manifest manifest = readFields(fields, *tree);
  if (!fields.wrong.empty())
    return failure(fields.wrong);
  manifest.hash = files::hashText(text.data(), text.size());
  return manifest;
}

static Result<std::string> readManifestText(const std::string &folder) {
  std::string path = folder + "/" + Manifest::fileName;
  auto failure = [&](const std::string &why) { return Status::badInput("cannot read checkpoint '" + path + "': " + why); };
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0)
    return failure(std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return failure("it is not a regular file");
  if (static_cast<uint64_t>(info.st_size) > Manifest::largestFile)
    return failure("its " + std::to_string(info.st_size) + " bytes are more than the " + std::to_string(Manifest::largestFile) +
                   " that a manifest may have");
  Result<std::vector<uint8_t>> bytes = files::readFile(path, Manifest::largestFile);
  if (!bytes.ok())
    return failure(bytes.status().message());
  return std::string(bytes->begin(), bytes->end());
}

Result<Manifest> readManifest(const std::string &folder) {
  Result<std::string> text = readManifestText(folder);
  return text.ok() ? parseManifest(*text, folder) : text.status();
}

bool isOfLaterFormat(const std::string &folder) {
  Result<std::string> text = readManifestText(folder);
  Result<Json> tree = text.ok() ? parseJsonTree(*text) : text.status();
  if (!tree.ok() || !tree->is_object() || !hasOwnHash(*text))
    return false;
  Fields fields;
  return fields.text(*tree, "format") == "npar checkpoint" && fields.number(*tree, "version") > Manifest::version;
}

bool hasManifest(const std::string &folder) {
  struct stat info;
  return ::stat((folder + "/" + Manifest::fileName).c_str(), &info) == 0;
}

} // namespace npar::engine

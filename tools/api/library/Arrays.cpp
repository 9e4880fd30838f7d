// Parameters in place, copied out and written; DLPack tensors in and out.
#include "tools/api/library/Arrays.h"
#include "tools/api/Texts.h"
#include "tools/api/library/Arguments.h"
#include "tools/api/library/DlPack.h"
#include "tools/api/library/Trainer.h"

#include "dsl/Suggestions.h"
#include "engine/files/StreamHash.h"
#include "engine/program/Elements.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>

using namespace npar;
using npar::api::withTrainer;
using npar::engine::ArrayType;
using npar::engine::BorrowedArray;
using npar::engine::Result;
using npar::engine::Status;

namespace npar::api {

static_assert(NPAR_F64 == static_cast<int>(ArrayType::F64) + 1 && NPAR_BOOL == static_cast<int>(ArrayType::Bool) + 1,
              "npar_dtype counts the types of BorrowedArray from 1");

Result<BorrowedArray> borrowedOf(const npar_array &array, const std::string &what) {
  if (array.dtype < NPAR_F64 || array.dtype > NPAR_BOOL)
    return Status::usage(what + ": npar_array.dtype is " + std::to_string(array.dtype) + ", which is no npar_dtype");
  if (array.ndim < 0 || array.ndim > 64)
    return Status::usage(what + ": npar_array.ndim is " + std::to_string(array.ndim) + ": it must be 0 to 64");
  if (array.ndim > 0 && !array.shape)
    return Status::usage(what + ": npar_array.shape is null, and ndim is " + std::to_string(array.ndim));
  BorrowedArray borrowed;
  borrowed.data = array.data, borrowed.type = static_cast<ArrayType>(array.dtype - 1);
  borrowed.shape.assign(array.shape, array.shape + array.ndim);
  for (int64_t size : borrowed.shape)
    if (size < 0)
      return Status::usage(what + ": npar_array.shape has the size " + std::to_string(size));
  if (array.strides)
    borrowed.strides.assign(array.strides, array.strides + array.ndim);
  else
    borrowed.strides = BorrowedArray::rowMajor(borrowed.shape);
  if (!borrowed.data && borrowed.elements() > 0)
    return Status::usage(what + ": npar_array.data is null, and its shape has " + std::to_string(borrowed.elements()) + " elements");
  return borrowed;
}

npar_dtype dtypeOf(program::ElementType type) {
  for (npar_dtype dtype = NPAR_F64; dtype <= NPAR_BOOL; ++dtype) // the types of both tables have the same words
    if (std::strcmp(engine::wordOf(static_cast<ArrayType>(dtype - 1)), program::rowOf(type).word) == 0)
      return dtype;
  throw std::logic_error("internal error: no array holds the type of a parameter");
}

namespace {

constexpr size_t mostNamed = 8;

/// Names what was probably meant: the parameters of a layer that is named like a parameter, else the nearest names.
Status noVariable(const program::Program &program, const std::string &name) {
  std::vector<std::string> all, inside;
  for (const program::Variable *variable : *program.variables())
    all.push_back(variable->name()->str());
  if (program.results())
    for (const program::LogicalResult *result : *program.results())
      all.push_back(result->name()->str());
  for (const program::Variable *variable : *program.variables())
    if (std::string each = variable->name()->str();
        variable->kind() == program::VariableKind::Parameter && each.rfind(name + ".", 0) == 0 && inside.size() < mostNamed)
      inside.push_back("'" + each + "'");
  std::string hint, nearest = dsl::nearest(name, all);
  if (!inside.empty())
    hint = ": it has " + dsl::joined(inside, "and");
  else if (!nearest.empty())
    hint = ": did you mean '" + nearest + "'?";
  else
    hint = "; NPAR_VIEW_PARAMETERS lists its parameters";
  return Status::badInput("the program has no variable '" + name + "'" + hint);
}

/// A variable, or an output of a program that only goes forward.
struct Named {
  program::ElementType type;
  std::vector<int64_t> shape;
};

template <typename Found> Named namedOf(const Found &found) { return {found.type(), {found.shape()->begin(), found.shape()->end()}}; }

Result<Named> find(const npar_trainer &trainer, const std::string &name) {
  for (const program::Variable *variable : *trainer.root().variables())
    if (variable->name()->str() == name)
      return namedOf(*variable);
  return noVariable(trainer.root(), name);
}

/// The output of a program that only goes forward; nothing if it has none of this name.
std::optional<Named> findResult(const npar_trainer &trainer, const std::string &name) {
  if (trainer.root().results())
    for (const program::LogicalResult *result : *trainer.root().results())
      if (result->name()->str() == name)
        return namedOf(*result);
  return std::nullopt;
}

Result<Named> findReadable(const npar_trainer &trainer, const std::string &name) {
  std::optional<Named> result = findResult(trainer, name);
  return result ? *result : find(trainer, name);
}

job::Call reading(const std::string &name) { return {"reads '" + name + "'"}; }

/// The hash of all elements of a source: equal for arrays of equal values.
Result<std::string> hashOfElements(const engine::ElementSource &source, uint64_t elements) {
  constexpr uint64_t most = 1 << 16;
  std::vector<uint8_t> bytes(std::min(most, elements) * program::sizeOf(source.type));
  files::StreamHash hash;
  for (uint64_t first = 0; first < elements; first += most) {
    const uint64_t count = std::min(most, elements - first);
    TRY_STATUS(source.read(first, count, bytes.data()));
    hash.add(bytes.data(), count * program::sizeOf(source.type));
  }
  return hash.text();
}

/// Is the array right for the values of `name`?
Status checkRead(const npar_trainer &trainer, const std::string &name, const BorrowedArray &into) {
  if (into.type != ArrayType::F32 && into.type != ArrayType::F64)
    return Status::usage(std::string("npar_trainer_read writes NPAR_F32 or NPAR_F64, and the array has ") + engine::wordOf(into.type));
  TRY(Named found, findReadable(trainer, name));
  return engine::sourceOf(into, name, found.shape).status(); // the same shapes
}

/// Reads into an array that checkRead accepts, in a call that has begun.
Status read(npar_trainer &trainer, const std::string &name, const BorrowedArray &into) {
  if (findResult(trainer, name)) {
    Result<std::vector<double>> values = trainer.session().readResult(name, 0, into.elements());
    TRY_STATUS(trainer.causeOf(values.status()));
    engine::copyInto(into, 0, values->data(), values->size());
    return {};
  }
  uint64_t first = 0;
  return trainer.causeOf(trainer.session().visit(name, [&](const double *values, size_t count) {
    engine::copyInto(into, first, values, count);
    first += count;
  }));
}

/// A gathered copy as a tensor.
Result<void *> copied(npar_trainer &trainer, const std::string &name) {
  Result<Named> found = findReadable(trainer, name);
  TRY_STATUS(trainer.begin(reading(name), found.status()));
  std::unique_ptr<DlPackCopy> copy = dlPackCopy(program::isWide(found->type), found->shape);
  TRY_STATUS(read(trainer, name, copy->array));
  return dlPackOf(std::move(copy));
}

npar_array arrayOf(const engine::HostPiece &piece, const int64_t *shape, const int64_t *strides) {
  // The header and the flag of DLPack forbid writing there; a C array of constants would be another type.
  return {const_cast<void *>(piece.data), dtypeOf(piece.type), static_cast<int32_t>(piece.shape.size()), shape, strides};
}

} // namespace
} // namespace npar::api

extern "C" {

npar_code npar_array_from_dlpack(const void *managed, npar_array *array, npar_error **error) {
  return api::fenced(error, [&]() -> Status {
    TRY_STATUS(api::needs(array, "npar_array_from_dlpack", "array"));
    return api::arrayFromDlPack(managed, *array);
  });
}

npar_code npar_trainer_view(npar_trainer *trainer, npar_str name, npar_array *array, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_view", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::Arguments("npar_trainer_view").filled(name, "name").status());
    TRY_STATUS(api::needs(array, "npar_trainer_view", "array"));
    const std::string text = api::textOf(name);
    TRY_STATUS(api::find(own, text).status());
    TRY(engine::HostPiece piece, engine::wholePiece(own.session(), own.root(), text));
    std::vector<int64_t> &sizes = own.viewSizes[text]; // never moves, and two views of a variable have the same sizes
    if (sizes.empty()) {
      sizes = piece.shape;
      sizes.insert(sizes.end(), piece.strides.begin(), piece.strides.end());
    }
    *array = api::arrayOf(piece, sizes.data(), sizes.data() + piece.shape.size());
    return {};
  });
}

npar_code npar_trainer_pieces(npar_trainer *trainer, npar_str name, const npar_piece **pieces, size_t *count, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_pieces", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::Arguments("npar_trainer_pieces").filled(name, "name").status());
    TRY_STATUS(api::needs(pieces, "npar_trainer_pieces", "pieces"));
    TRY_STATUS(api::needs(count, "npar_trainer_pieces", "count"));
    const std::string text = api::textOf(name);
    TRY_STATUS(api::find(own, text).status());
    TRY(std::vector<engine::HostPiece> found, own.session().hostPieces(text));
    std::vector<npar_piece> given;
    std::vector<std::vector<int64_t>> sizes;
    for (const engine::HostPiece &piece : found) {
      std::vector<int64_t> &own = sizes.emplace_back(piece.shape);
      own.insert(own.end(), piece.strides.begin(), piece.strides.end());
      own.insert(own.end(), piece.start.begin(), piece.start.end());
      const int64_t *shape = own.data(), *strides = shape + piece.shape.size();
      npar_piece one = {};
      one.struct_size = sizeof one;
      one.owned = piece.owned, one.rank = piece.rank, one.is_flat = piece.flat, one.first = piece.first;
      one.start = piece.flat ? nullptr : strides + piece.strides.size();
      one.array = api::arrayOf(piece, shape, strides);
      given.push_back(one);
    }
    own.sizes = std::move(sizes), own.pieces = std::move(given);
    *pieces = own.pieces.data(), *count = own.pieces.size();
    return {};
  });
}

npar_code npar_trainer_read(npar_trainer *trainer, npar_str name, const npar_array *into, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_read", error, [&](npar_trainer &own) -> Status {
    const std::string text = api::textOf(name);
    auto checked = [&]() -> Result<BorrowedArray> {
      TRY_STATUS(api::Arguments("npar_trainer_read").filled(name, "name").status());
      TRY_STATUS(api::needs(into, "npar_trainer_read", "into"));
      TRY(BorrowedArray array, api::borrowedOf(*into, "'" + text + "'"));
      TRY_STATUS(api::checkRead(own, text, array));
      return array;
    };
    Result<BorrowedArray> array = checked();
    TRY_STATUS(own.begin(api::reading(text), array.status()));
    return api::read(own, text, *array);
  });
}

npar_code npar_trainer_write(npar_trainer *trainer, npar_str name, const npar_array *from, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_write", error, [&](npar_trainer &own) -> Status {
    const std::string text = api::textOf(name);
    job::Call call{"writes '" + text + "'", {}, "", "the array for '" + text + "'", "every process must pass the whole array"};
    auto checked = [&]() -> Result<engine::ElementSource> {
      TRY_STATUS(api::Arguments("npar_trainer_write").filled(name, "name").status());
      TRY_STATUS(api::needs(from, "npar_trainer_write", "from"));
      TRY(BorrowedArray array, api::borrowedOf(*from, "'" + text + "'"));
      TRY(api::Named found, api::find(own, text));
      TRY(engine::ElementSource source, engine::sourceOf(array, text, found.shape));
      if (own.isShared()) {
        TRY(call.hash, api::hashOfElements(source, array.elements()));
      }
      return source;
    };
    Result<engine::ElementSource> source = checked();
    TRY_STATUS(own.begin(call, source.status()));
    const Status written = own.session().writeFrom(text, *source);
    if (!written.ok() && own.isShared()) // other processes have written it
      own.session().abandon(written);
    return written;
  });
}

npar_code npar_trainer_to_dlpack(npar_trainer *trainer, npar_str name, npar_export what, size_t piece, void **managed, npar_error **error) {
  return withTrainer(trainer, "npar_trainer_to_dlpack", error, [&](npar_trainer &own) -> Status {
    TRY_STATUS(api::Arguments("npar_trainer_to_dlpack").filled(name, "name").status());
    TRY_STATUS(api::needs(managed, "npar_trainer_to_dlpack", "managed"));
    const std::string text = api::textOf(name);
    if (what == NPAR_EXPORT_COPY) {
      TRY(*managed, api::copied(own, text));
      return {};
    }
    TRY_STATUS(api::find(own, text).status());
    if (what == NPAR_EXPORT_VIEW) {
      TRY(engine::HostPiece whole, engine::wholePiece(own.session(), own.root(), text));
      *managed = api::dlPackView(whole, own.memory);
      return {};
    }
    if (what == NPAR_EXPORT_PIECE) {
      TRY(std::vector<engine::HostPiece> all, own.session().hostPieces(text));
      if (piece >= all.size())
        return Status::usage("'" + text + "' has " + std::to_string(all.size()) + " pieces, and number " + std::to_string(piece) +
                             " was asked for; they count from 0");
      *managed = api::dlPackView(all[piece], own.memory);
      return {};
    }
    return Status::usage("npar_trainer_to_dlpack: " + std::to_string(what) + " is no npar_export");
  });
}
}

// Checks collectives one by one: kinds, axes and geometry exist, shares cover the whole, and pieces of rows fit.
#include "engine/program/Elements.h"
#include "engine/program/Pieces.h"
#include "engine/program/Ranks.h"
#include "engine/program/SizeCheck.h"
#include "engine/program/Words.h"

#include <set>
#include <utility>

namespace npar::program {
namespace {

/// Effect of a kind of collective on its geometry: [outer, split, inner] is cut to `split` or joined along it, blocks are exchanged, or
/// the members are shifted. Other kinds do not use these fields.
struct Geometry {
  bool gather = false, scatter = false, exchange = false, permute = false;
};

Geometry geometryOf(CollectiveKind kind) {
  Geometry geometry;
  switch (kind) {
  case CollectiveKind::AllGather:
    geometry.gather = true;
    break;
  case CollectiveKind::ReduceScatter:
    geometry.scatter = true;
    break;
  case CollectiveKind::AllToAll:
    geometry.exchange = true;
    break;
  case CollectiveKind::Permute:
    geometry.permute = true;
    break;
  case CollectiveKind::AllReduce:
    break;
  }
  return geometry;
}

/// Sums of floats: maxima of a library may lose what is no number.
bool mayBeOfLibrary(const Collective &collective) {
  bool adds = geometryOf(collective.kind()).scatter || collective.kind() == CollectiveKind::AllReduce;
  return adds && collective.op() != ReduceOp::Max && isFloating(collective.type());
}

/// True if the members' pieces are shares of `whole`: blocks of a row, or gathered shards of a dimension whose last ones hold padding.
bool areShares(const Collective &collective, uint64_t members) {
  bool gather = geometryOf(collective.kind()).gather, scatter = geometryOf(collective.kind()).scatter;
  uint64_t piece = 0, whole = collective.whole(), split = static_cast<uint64_t>(collective.split());
  std::vector<int64_t> geometry = {collective.outer(), collective.split(), collective.inner()};
  if (!(gather || scatter) || whole > largestSize / 8 || !product(geometry, piece) || piece / split > largestSize / 8 / whole)
    return false;
  bool blocks = split == flatShare(whole, members) && collective.outer() == 1 && collective.inner() == 1;
  bool shards = gather && split == (whole + members - 1) / members;
  return (blocks || shards) && collective.count() == (scatter ? whole : piece);
}

/// Samples and rows of a block of an all to all.
std::pair<int64_t, int64_t> rowsOf(const Collective &collective) {
  int64_t rows = collective.concat_first() ? collective.split() : collective.concat();
  int64_t samples = collective.concat_first() ? collective.concat() : collective.split();
  return {collective.outer() * samples * collective.middle(), rows};
}

/// True if the rows of an all to all are whole pieces, and there are entries for them. `places` is not 0.
bool hasPieces(const Collective &collective, uint64_t members) {
  if (!geometryOf(collective.kind()).exchange) // others' geometry has not been checked
    return false;
  auto [samples, rows] = rowsOf(collective);
  uint64_t pieces = static_cast<uint64_t>(rows) / collective.places() * members, entries = collective.entries();
  return static_cast<uint64_t>(rows) % collective.places() == 0 && entries > 0 && collective.groups() >= entries &&
         collective.groups() <= largestSize / 8 && Wide(pieces) * entries >= collective.groups() &&
         Wide(samples) * pieces * entries <= largestSize / 8;
}

/// Bytes of the ends of one side of an all to all.
uint64_t endBytes(const Collective &collective, uint64_t members, bool ofInput) {
  auto [samples, rows] = rowsOf(collective);
  bool whole = ofInput == collective.concat_first();
  uint64_t each = whole ? collective.groups() : members * (static_cast<uint64_t>(rows) / collective.places()) * collective.entries();
  return static_cast<uint64_t>(samples) * each * sizeOf(ElementType::I32);
}

} // namespace

std::string checkAxes(const Program &program, const flatbuffers::Vector<uint32_t> &axes, const std::string &what) {
  std::set<uint32_t> seen;
  for (uint32_t axis : axes) {
    if (axis >= program.mesh()->size())
      return what + " names mesh axis " + number(axis) + " of " + number(program.mesh()->size());
    if (!seen.insert(axis).second)
      return what + " names mesh axis '" + program.mesh()->Get(axis)->name()->str() + "' twice";
  }
  return {};
}

std::string checkCollectiveSizes(const Program &program) {
  for (const Collective *collective : *program.collectives()) {
    if (!known(collective->kind()) || !known(collective->op()) || !known(collective->type()) || collective->count() > largestSize / 8 ||
        collective->axes()->size() == 0)
      return "a collective of an unknown kind, or without mesh axes";
    if (collective->cause() && !known(collective->cause()->kind()))
      return "a collective with an unknown cause";
    for (uint32_t rule : *collective->rules())
      if (rule >= program.labels()->size())
        return "a collective asked for by rule " + number(rule) + " of " + number(program.labels()->size()) + " labels";
    if (std::string wrong = checkAxes(program, *collective->axes(), "a collective"); !wrong.empty())
      return wrong;
    if (!isPart(collective->filled()))
      return "a collective of which the part " + std::to_string(collective->filled()) + " exists";
    if (collective->library() && !mayBeOfLibrary(*collective))
      return "a collective of kind " + std::string(wordOf(collective->kind())) + " and type " + wordOf(collective->type()) +
             " that a library is to add up";
    uint64_t piece = 0, members = ranksAlong(program, *collective->axes());
    std::vector<int64_t> geometry = {collective->outer(), collective->split(), collective->middle(), collective->concat(),
                                     collective->inner()};
    auto [gather, scatter, exchange, permute] = geometryOf(collective->kind());
    bool shares = collective->whole() != 0;
    if (shares && !areShares(*collective, members))
      return "a collective of " + number(collective->count()) + " elements whose shares of " + std::to_string(collective->split()) +
             " elements for " + number(members) + " ranks do not fit the whole of " + number(collective->whole());
    if (!exchange && (collective->middle() != 1 || collective->concat() != 1 || collective->concat_first()))
      return "a collective of kind " + std::string(wordOf(collective->kind())) + " with the geometry of all_to_all";
    if (!shares && (gather || scatter || exchange) &&
        (!product(geometry, piece) || Wide(piece) * (gather ? 1 : members) != collective->count()))
      return "a collective of " + number(collective->count()) + " elements whose geometry " + std::to_string(collective->outer()) + " x " +
             std::to_string(collective->split()) +
             (exchange ? " x " + std::to_string(collective->middle()) + " x " + std::to_string(collective->concat()) : "") + " x " +
             std::to_string(collective->inner()) + " does not match";
    if (collective->places() > 0 && !hasPieces(*collective, members))
      return "a collective of kind " + std::string(wordOf(collective->kind())) + " whose pieces of " + number(collective->places()) +
             " rows do not fit its geometry";
    if (permute ? collective->shift() == 0 || collective->shift() >= members : collective->shift() != 0)
      return "a collective of kind " + std::string(wordOf(collective->kind())) + " of " + number(members) + " members with shift " +
             number(collective->shift());
  }
  return {};
}

CollectiveBytes bytesOf(const Program &program, const Collective &collective) {
  uint64_t members = ranksAlong(program, *collective.axes()), size = sizeOf(collective.type());
  auto split = static_cast<uint64_t>(collective.split());
  Geometry geometry = geometryOf(collective.kind());
  CollectiveBytes bytes;
  bytes.input = collective.count() * size;
  bytes.output = collective.whole() ? (geometry.gather ? collective.count() / split * collective.whole() : split) * size
                 : geometry.gather  ? bytes.input * members
                 : geometry.scatter ? bytes.input / members
                                    : bytes.input;
  if (collective.places() > 0)
    bytes.inputEnds = endBytes(collective, members, true), bytes.outputEnds = endBytes(collective, members, false);
  return bytes;
}

} // namespace npar::program

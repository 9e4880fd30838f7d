// Parameters from stored tensors and to safetensors files, whatever plan the session runs.
#pragma once

#include "engine/checkpoint/FileNames.h"
#include "engine/program/Loader.h"
#include "engine/runtime/Session.h"

namespace npar::engine {

/// Stored tensors that fit the parameters of a program. A tensor has the variable's name, or the one that the program's checkpoint rules
/// give it, the shape of Variable.stored and a floating type; that of a state of the model may be I64.
class Weights {
public:
  /// Errors name the tensor and both shapes; missing and unknown tensors are listed. `program` outlives the result. `unread`: patterns of
  /// parameters whose tensors are not read, whether the store has them or not; one that matches no parameter is refused.
  static Result<Weights> match(const program::Program &program, std::shared_ptr<const TensorStore> store,
                               const std::vector<std::string> &unread = {});

  const FileNames &names() const { return found; }
  const TensorStore &store() const { return *source; }
  /// That all values are finite in the parameters' types, and the same where they must be: the first bad ones with their indices. Reads all
  /// of the tensors, in blocks.
  Status checkValues() const;
  /// That tensors of one parameter, such as those of a tied head, hold the same values. Reads only these.
  Status checkSame() const;
  /// Writes them to every rank of the session, each reading only what it keeps.
  Status apply(Session &session) const;

private:
  std::shared_ptr<const TensorStore> source;
  std::unique_ptr<std::map<std::string, StoreEntry>> tensors; ///< that are weights; `found` refers to them
  FileNames found;
};

/// Parameters with other values than those of a tensor of their own.
struct UnstoredParameters {
  size_t fresh = 0;                    ///< initial values: they are not stored, and need not be
  size_t copied = 0;                   ///< copies of one tensor for each index
  std::vector<std::string> asked = {}; ///< initial values, as the caller wants
  /// "2 parameters are not in 'file' and keep their initial values (fresh)"; empty if the file has all of them, each index by itself.
  std::string text(const std::string &path) const;
};

/// Sets every parameter from a file, a folder or a checkpoint, except that those that a pattern of `fresh` matches get their initial
/// values, and those that one of `parts` (Parts.h) has get the part's. Everything is checked before anything is applied. In between,
/// `begin` gets the checked weights, or the reason why they cannot be loaded: nothing is applied if it returns an error.
Result<UnstoredParameters> loadWeights(
    Session &session, const program::Program &program, const std::string &path, const std::vector<std::string> &fresh = {},
    const std::vector<std::string> &parts = {},
    const std::function<Status(const Result<Weights> &)> &begin = [](const Result<Weights> &weights) { return weights.status(); });

/// Writes every parameter (F32, or F64 when that is its type; of 16-bit ones the float32 master) atomically: a failed write leaves the old
/// file as it was. Where ranks are in other sessions, all sessions call this: one with a path, the others with an empty one.
Status saveWeights(const Session &session, const program::Program &program, const std::string &path);

} // namespace npar::engine

// A loaded program with its arenas, ready to run training steps: the engine's front door for the driver, the checks and the tests.
#pragma once

#include "engine/program/Loader.h"
#include "engine/program/OwnedPieces.h"
#include "engine/runtime/Batch.h"
#include "engine/runtime/ElementSource.h"
#include "engine/runtime/HostPieces.h"
#include "engine/runtime/RunLength.h"
#include "engine/status/Status.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace npar::engine {

class Session;
class Trace;

struct SessionOptions {
  int threads = 0;             ///< workers; 0: the machine's
  std::string backend = "cpu"; ///< "cpu", "cuda" or "null" (no arithmetic, planned times)
  /// This process's number among those of its host, for "cuda", and how many GPUs it takes; its ranks are spread over these in equal
  /// blocks. 0 GPUs: the process's share of the host's, at most one for each rank.
  int64_t process = 0, processes = 1, gpus = 1;
  /// Implementation of products for "cuda": npar's kernels, which give the processor's bits ("own"); cuBLASLt if a trial gave these bits,
  /// too ("matching"); or cuBLASLt for every product that it supports ("library").
  std::string products = "own";
  /// Implementation of attention for "cuda": npar's kernels ("own"), or cuDNN for every attention that it supports ("library").
  std::string attention = "own";
  /// Order of products of bf16. Fastest: the program's, and if that is Fastest too, `fastestOrder`, on which the processes of a job agree;
  /// if they did not, this processor's.
  program::ProductOrder productOrder = program::ProductOrder::Fastest, fastestOrder = program::ProductOrder::Fastest;
  /// True if, for "cuda", each rank's computation between two communications is one CUDA graph from the second step on.
  bool record = false;
  uint64_t seed = 0;           ///< seed of initialisation and dropout
  Trace *trace = nullptr;      ///< not owned; null: no trace
  std::vector<int64_t> ranks;  ///< ranks of this session; empty: all of the world. Ranks elsewhere need a communicator (SessionParts.h)
  double timeoutSeconds = 300; ///< limit without any progress; then the step fails with rank, step, label and source line
  /// Called when `create` begins a phase, such as "taking memory"; may be null.
  std::function<void(const std::string &)> onPhase;
  /// Called with information for the user that is not an error; may be null.
  std::function<void(const std::string &)> onRemark;
  /// False: parameters begin as zeros, because all are written before the first step, or set with `initialise`.
  bool initialise = true;
  /// Programs whose sessions will have this one as their host and take turns with it: its arenas have room for them.
  std::vector<std::shared_ptr<const program::LoadedProgram>> guests;
  /// A session that outlives this one, for a program with the same parameters and states at the same places: this session uses that one's
  /// memory and allocates none. Null: its own memory. If ranks are in other sessions, these must do the same.
  const Session *host = nullptr;
  std::optional<RunLength> run; ///< see Session::setRun; nothing: it is set later
  /// Returns this session's message to the others at the end of a successful step; called once per step; null: no message. Every session
  /// receives all messages (StepResult.notes), so decisions based on them agree.
  std::function<std::vector<uint8_t>(int64_t step)> note;
};

/// One of several losses of a step, which is their weighted sum: the mean over the positions of the global batch where it counts.
struct NamedLoss {
  std::string name;
  double value = 0;
  std::optional<int64_t> counted = std::nullopt; ///< number of these positions; nothing if all count
};

/// Names of the losses of a program with several, in the order of its text; empty if its loss has no name.
std::vector<std::string> namedLosses(const program::Program &program);

/// Names of the numbers that the model logs, in the order of its text; a list has NAME.0, NAME.1 and so on.
std::vector<std::string> loggedNames(const program::Program &program);

/// Scalars of one finished training step, read from the first ranks that have them: loss, grad_norm, lr; with fp16 the loss scale of the
/// step (else 0); valid_tokens. A forward-only program has none: all are 0. `skipped`: the norm is not finite, so parameters and optimizer
/// state are unchanged.
struct StepResult {
  double loss = 0, gradNorm = 0, learningRate = 0, lossScale = 0;
  bool skipped = false;
  /// Number of targets of the global batch that counted in the loss; nothing if the program ignores none.
  std::optional<int64_t> validTokens = std::nullopt;
  std::vector<NamedLoss> losses = {};           ///< in the order of the text; empty if the loss has no name
  std::vector<double> logged = {};              ///< by loggedNames
  std::vector<double> groupNorms = {};          ///< norm of the gradients of each of Program.groups
  std::vector<std::vector<uint8_t>> notes = {}; ///< by session: SessionOptions.note of each
};

struct ArenaUse {
  int64_t rank = 0;
  uint64_t planned = 0, used = 0; ///< bytes; used: the high-water mark of everything bound
};

/// XXH3-128 of some elements' bytes.
struct ElementsHash {
  uint64_t high = 0, low = 0;
};

/// Owns the arenas of its ranks and their step graph. Not thread-safe.
///
/// If ranks are in other sessions (such as processes), all sessions are created at the same time, from one program and with one seed. All
/// of them must then call `step`, `read`, `readFloat`, `readResult` and `parameterHash` in the same order with the same arguments, and get
/// the same results. The same applies to `write`, `writeFrom` and `initialise`, which communicate nothing. A failure in one session makes
/// all fail, with the same cause.
class Session {
public:
  /// Verifies the program, allocates exactly the planned arenas of its ranks, builds the step graph, initialises parameters from the seed.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const program::LoadedProgram> program, const SessionOptions &options);
  virtual ~Session() = default;

  /// Runs one training step. `batch`: the values of every input, for the whole global batch or only for the samples of rows(), which must
  /// pass checkBatch; `step` counts from 0.
  virtual Result<StepResult> step(const Batch &batch, int64_t step) = 0;
  /// Sets the length of the run, between steps. A program that needs it (needsRunLength) takes no step before. All sessions must get the
  /// same.
  virtual Status setRun(const RunLength &length) = 0;

  /// Logical values, row-major over Variable.shape without padding, in double whatever the element type.
  /// Accumulators hold the last step's gradient of that use, reduced over data-parallel ranks.
  virtual Result<std::vector<double>> read(const std::string &variable) const = 0;
  /// The values of `read`, block by block, so that even a session with all ranks never holds the whole tensor.
  virtual Status visit(const std::string &variable, const std::function<void(const double *values, size_t count)> &take) const = 0;
  /// Writes a logical variable to every rank that keeps a piece of it, and a 16-bit parameter also to its float32 master. The size must be
  /// that of Variable.shape.
  virtual Status write(const std::string &variable, const std::vector<double> &values) = 0;
  /// Like `write`, but from a source that is read by ranges, in parallel: elements that this session's ranks keep are read once, and the
  /// whole tensor is never in memory. If reading fails, the variable is partly written.
  virtual Status writeFrom(const std::string &variable, const ElementSource &source) = 0;
  /// Sets a parameter, and its master, to its initial values.
  virtual Status initialise(const std::string &parameter) = 0;
  /// Float32 form of read/write for checkpoints (no detour through double).
  virtual Result<std::vector<float>> readFloat(const std::string &variable) const = 0;
  virtual Status writeFloat(const std::string &variable, const std::vector<float> &values) = 0;

  /// The addresses of the pieces of a variable that ranks of this session keep.
  virtual Result<std::vector<HostPiece>> hostPieces(const std::string &variable) const = 0;

  /// `count` elements of a result of a forward-only program, starting at element `first`, row-major over LogicalResult.shape, as the last
  /// step left them, in double whatever the element type.
  virtual Result<std::vector<double>> readResult(const std::string &result, uint64_t first, uint64_t count) const = 0;

  /// Copies the bytes of pieces that ranks of this session own, in the order of the list, in their variables' types: a snapshot of what
  /// persists from this step to the next. `bytes` must have room for all of them. Allocates almost nothing.
  virtual Status readPieces(const std::vector<program::OwnedPiece> &pieces, uint8_t *bytes) const = 0;
  /// Hashes of the elements of pieces that ranks of this session keep, owned or not, without padding, in the order of the list.
  virtual Result<std::vector<ElementsHash>> hashPieces(const std::vector<program::OwnedPiece> &pieces) const = 0;
  /// The order of the products of bf16; nothing if the program has none.
  virtual std::optional<program::ProductOrder> productOrder() const = 0;
  /// The ranks of this session, ascending.
  virtual std::vector<int64_t> ranks() const = 0;
  /// The samples of the global batch that these ranks read, ascending: a stage in the middle of a pipeline reads none.
  virtual std::vector<int64_t> rows() const = 0;
  /// Between steps: reports that this session cannot continue, for a reason of its own such as unreadable data. The next call of every
  /// session fails with it.
  virtual void abandon(const Status &status) = 0;
  /// Between steps: sends bytes to all sessions and returns those of all, by session (Communicator::gather). If all ranks are here, returns
  /// only its own.
  virtual Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const = 0;

  /// XXH3-128 over all logical parameters (over the masters of 16-bit ones) in program order, as 32 hex digits; empty if parameters of
  /// other sessions cannot be read.
  virtual std::string parameterHash() const = 0;
  /// The same of the model's states; empty if it has none.
  virtual std::string stateHash() const = 0;
  /// Arena use of each rank of this session.
  virtual std::vector<ArenaUse> arenaUse() const = 0;
};

} // namespace npar::engine

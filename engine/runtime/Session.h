// A loaded program with its arenas, ready to run training steps: the engine's front door for the driver, the checks and the tests.
#pragma once

#include "engine/program/Loader.h"
#include "engine/runtime/Batch.h"
#include "engine/runtime/ElementSource.h"
#include "engine/runtime/OwnedPieces.h"
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
  /// Of "cuda": this process among those of its host, and how many GPUs it takes, over which its ranks are spread in equal blocks; 0: the
  /// process's share of the host's, at most one for each rank.
  int64_t process = 0, processes = 1, gpus = 1;
  /// Of "cuda", who multiplies: "own" kernels, which have the processor's bits; cuBLASLt where a trial gave these bits, too ("matching");
  /// or wherever it can ("library").
  std::string products = "own";
  /// And who attends: "own" kernels, or cuDNN wherever it can ("library").
  std::string attention = "own";
  /// Of "cuda": from the second step on, what a rank computes from one communication to the next is one CUDA graph.
  bool record = false;
  uint64_t seed = 0;           ///< of initialisation and dropout
  Trace *trace = nullptr;      ///< not owned; null: no trace
  std::vector<int64_t> ranks;  ///< of this session; empty: all of the world. Others need a communicator (SessionParts.h)
  double timeoutSeconds = 300; ///< without any progress, then the step fails with rank, step, label and source line
  /// Told what `create` begins to do, such as "taking memory"; null: nobody is.
  std::function<void(const std::string &)> onPhase;
  /// Told what a person should know though nothing is wrong; null: nobody is.
  std::function<void(const std::string &)> onRemark;
  /// False: parameters begin as zeros, for all of them are written before the first step, or asked for with `initialise`.
  bool initialise = true;
  /// Programs that sessions with this one as their host will run, by turns with this program's steps: its arenas have room for them.
  std::vector<std::shared_ptr<const program::LoadedProgram>> guests;
  /// A session that outlives this one, of a program that has the same parameters and states at the same places: this session takes no
  /// memory but that one's. Null: its own. Where ranks are in other sessions these do the same.
  const Session *host = nullptr;
  /// What this session has to say to the others at the end of a step that went well, asked for once in each; null: nothing. All sessions
  /// hear all of it (StepResult.notes), so what they decide by it they decide alike.
  std::function<std::vector<uint8_t>(int64_t step)> note;
};

/// One of several losses of a step, which is their weighted sum: the mean over the positions of the global batch where it counts.
struct NamedLoss {
  std::string name;
  double value = 0;
  std::optional<int64_t> counted = std::nullopt; ///< how many these were; nothing where all count
};

/// Names of the losses of a program that has several, in the order of its text; none where there is one without a name.
std::vector<std::string> namedLosses(const program::Program &program);

/// Scalars of one finished training step, read from the first ranks that have them: loss, grad_norm, lr; with fp16 the loss scale that the
/// step was done with (else 0); valid_tokens. Of a forward-only program there are none: all are 0. `skipped`: the norm is not finite, so
/// parameters and optimizer state are those of before.
struct StepResult {
  double loss = 0, gradNorm = 0, learningRate = 0, lossScale = 0;
  bool skipped = false;
  /// How many targets of the global batch counted in the loss; nothing for a program that ignores none.
  std::optional<int64_t> validTokens = std::nullopt;
  std::vector<NamedLoss> losses = {};           ///< in the order of the text; none where the loss has no name
  std::vector<double> groupNorms = {};          ///< of the gradients of each of Program.groups
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
/// Where ranks are in other sessions (processes, say), all sessions are created at the same time, of one program and with one seed; `step`,
/// `read`, `readFloat`, `readResult` and `parameterHash` are then called by all of them, in the same order with the same arguments, and
/// return the same to each. So are `write`, `writeFrom` and `initialise`, which communicate nothing. What fails in one session fails in
/// all, with the same cause.
class Session {
public:
  /// Verifies the program, allocates exactly the planned arenas of its ranks, builds the step graph, initialises parameters from the seed.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const program::LoadedProgram> program, const SessionOptions &options);
  virtual ~Session() = default;

  /// Runs one training step. `batch`: the values of every input for the whole global batch, or for the samples of rows() alone, which must
  /// pass checkBatch; `step` counts from 0.
  virtual Result<StepResult> step(const Batch &batch, int64_t step) = 0;

  /// Logical values, row-major over Variable.shape without padding, in double whatever the element type.
  /// Accumulators hold the last step's gradient of that use, reduced over data-parallel ranks.
  virtual Result<std::vector<double>> read(const std::string &variable) const = 0;
  /// The values of `read`, one block after the other: a session with all ranks has them nowhere whole.
  virtual Status visit(const std::string &variable, const std::function<void(const double *values, size_t count)> &take) const = 0;
  /// Writes a logical variable to every rank that keeps a piece of it, a 16-bit parameter to its float32 master too; the size must be that
  /// of Variable.shape.
  virtual Status write(const std::string &variable, const std::vector<double> &values) = 0;
  /// As `write`, from a source that is read by ranges, in parallel: what the ranks of this session keep is read once, and nothing is whole
  /// in memory. A variable is left written in part when reading fails.
  virtual Status writeFrom(const std::string &variable, const ElementSource &source) = 0;
  /// Gives a parameter, and its master, the values that it begins with.
  virtual Status initialise(const std::string &parameter) = 0;
  /// Float32 form of read/write for checkpoints (no detour through double).
  virtual Result<std::vector<float>> readFloat(const std::string &variable) const = 0;
  virtual Status writeFloat(const std::string &variable, const std::vector<float> &values) = 0;

  /// `count` elements from element `first` on of a result of a forward-only program, row-major over LogicalResult.shape: what the last step
  /// left, in double whatever the element type.
  virtual Result<std::vector<double>> readResult(const std::string &result, uint64_t first, uint64_t count) const = 0;

  /// The bytes of pieces that ranks of this session own, one after the other in the order of the list, in their variables' types: a
  /// snapshot of what goes from this step into the next. `bytes` has room for all of them; it allocates next to nothing.
  virtual Status readPieces(const std::vector<OwnedPiece> &pieces, uint8_t *bytes) const = 0;
  /// Hashes of the elements of pieces that ranks of this session keep, owned or not, without padding, in the order of the list.
  virtual Result<std::vector<ElementsHash>> hashPieces(const std::vector<OwnedPiece> &pieces) const = 0;
  /// The ranks of this session, ascending.
  virtual std::vector<int64_t> ranks() const = 0;
  /// The samples of the global batch that these ranks read, ascending: a stage in the middle of a pipeline reads none.
  virtual std::vector<int64_t> rows() const = 0;
  /// Between steps: this session cannot go on, for a reason of its own, such as data that cannot be read. All sessions fail with it in what
  /// they call next.
  virtual void abandon(const Status &status) = 0;
  /// Between steps: gives some bytes to all sessions and gets those of all, by session (Communicator::gather). With all ranks here: its
  /// own.
  virtual Result<std::vector<std::vector<uint8_t>>> gather(const std::vector<uint8_t> &own) const = 0;

  /// XXH3-128 over all logical parameters (of 16-bit ones over their masters) in program order, as 32 hex digits.
  virtual std::string parameterHash() const = 0;
  /// Of the ranks of this session.
  virtual std::vector<ArenaUse> arenaUse() const = 0;
};

} // namespace npar::engine

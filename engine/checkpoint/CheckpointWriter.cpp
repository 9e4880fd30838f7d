// One save: snapshot, shards in a thread, and between steps the sessions tell each other how far they are.
#include "engine/checkpoint/CheckpointWriter.h"

#include "engine/checkpoint/CheckpointFolder.h"
#include "engine/checkpoint/CheckpointTensors.h"
#include "engine/checkpoint/OwnFiles.h"
#include "engine/checkpoint/SessionNews.h"
#include "engine/checkpoint/Shard.h"
#include "engine/files/StreamHash.h"
#include "engine/program/Ranks.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <mutex>
#include <new>
#include <numeric>
#include <thread>

namespace npar::engine {

using namespace program;

namespace {

/// Returns the result of `body`, or an error if memory has run out.
template <typename Body> Status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return Status::runFailed("there is no memory left for it");
  }
}

std::vector<int64_t> allRanks(const Program &program) {
  std::vector<int64_t> ranks(static_cast<size_t>(worldOf(program)));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

} // namespace

struct CheckpointWriter::Implementation {
  Implementation(Session &session, std::shared_ptr<const LoadedProgram> program, CheckpointOptions options)
      : session(session), loaded(std::move(program)), program(loaded->root()), options(std::move(options)), ranks(session.ranks()),
        alone(static_cast<int64_t>(ranks.size()) == worldOf(this->program)), lowest(ranks.front() == 0),
        tensors(checkpointTensors(this->program)), byVariable(this->program.variables()->size()),
        pieces(checkpointPieces(this->program, ranks)) {
    for (const CheckpointTensor &each : tensors)
      byVariable[each.variable] = &each.tensor;
  }

  Status open();
  Status save(const TrainingState &state);
  Status poll();
  Status finish();
  Status seeSameFolder();
  void start();
  void spawn(std::function<void()> work);
  void write();
  void pauseBefore(int retry);
  Status writeShards();
  Status commit(const std::vector<ShardRecord> &shards);
  void removeOld();
  Result<Manifest> manifestOf(const std::vector<ShardRecord> &shards) const;
  Status readCounters();
  Status heard(const SessionNews &own, std::vector<SessionNews> &all);
  Status conclude();
  Status fail(const Status &outcome, bool mayRetry);
  std::vector<std::string> filesToCome() const;
  void remark(std::vector<std::string> texts);
  void join();
  SessionNews news() const;

  Session &session;
  std::shared_ptr<const LoadedProgram> loaded;
  const Program &program;
  CheckpointOptions options;
  std::vector<int64_t> ranks;
  bool alone;  ///< no rank is in another session
  bool lowest; ///< this session has rank 0: it writes the manifest
  std::vector<CheckpointTensor> tensors;
  std::vector<const ManifestTensor *> byVariable; ///< null: not stored
  std::vector<OwnedPiece> pieces;                 ///< of this session, by rank
  std::unique_ptr<uint8_t[]> snapshot;
  std::optional<CheckpointFolder> folder; ///< of the lowest session
  std::string tag;                        ///< in the names of partial folders, the same in every session

  // The current save:
  bool inFlight = false;
  bool started = false; ///< this session has begun to write
  bool broken = false;  ///< the sessions do not hear each other any more
  int tries = 0;        ///< that have failed
  Manifest head;        ///< all but files and tensors
  std::string partial;
  std::thread thread;
  std::atomic<SaveState> state{SaveState::Working}; ///< what the thread has done; what it has found is read afterwards
  std::vector<ShardRecord> shards;
  Status failure;

  std::atomic<bool> leaving{false}; ///< nothing waits for another try
  std::string newest;
  std::vector<std::string> remarks;
  std::mutex shared; ///< guards options.spared and remarks, which the writing thread takes too
};

Status CheckpointWriter::Implementation::open() {
  snapshot.reset(new (std::nothrow) uint8_t[std::max<uint64_t>(1, bytesOf(program, pieces))]);
  SessionNews own;
  if (!snapshot)
    own.failure = Status::runFailed("no memory for the snapshot of checkpoints, " + std::to_string(bytesOf(program, pieces)) + " bytes");
  else if (lowest)
    own.failure = guarded([&] {
      Result<CheckpointFolder> opened = CheckpointFolder::open(options.folder, remarks);
      if (opened.ok())
        folder.emplace(std::move(*opened)), own.tag = CheckpointFolder::freshTag();
      return opened.status();
    });
  Result<std::vector<SessionNews>> all = shareNews(session, own);
  if (!all.ok())
    return all.status();
  for (const SessionNews &each : *all) {
    if (!each.failure.ok())
      return each.failure;
    if (!each.tag.empty())
      tag = each.tag;
  }
  if (Status status = alone ? Status() : seeSameFolder(); !status.ok())
    return status;
  head.model = program.model()->str(), head.plan = program.plan()->str(), head.train = program.train()->str();
  head.modelHash = modelHash(program), head.planHash = files::hashText(loaded->data().data(), loaded->data().size());
  head.compute = wordOf(program.compute());
  if (std::optional<ProductOrder> order = session.productOrder())
    head.products = wordOf(*order);
  for (const MeshAxis *axis : *program.mesh())
    head.mesh.push_back({axis->name()->str(), axis->size()});
  head.call = options.call;
  return {};
}

/// If sessions run on machines that do not share the folder, each would write a part of a checkpoint, and no machine would have all of it.
/// The session with rank 0 therefore creates a folder in it that all others must see.
Status CheckpointWriter::Implementation::seeSameFolder() {
  std::string trial = CheckpointFolder::partialName(options.folder, 0, tag);
  SessionNews own;
  if (lowest)
    own.failure = guarded([&] { return files::makeFolder(trial); });
  Result<std::vector<SessionNews>> all = shareNews(session, own);
  if (!all.ok())
    return all.status();
  if (Result<std::vector<std::string>> names = files::namesIn(options.folder); !lowest)
    if (!names.ok() || std::find(names->begin(), names->end(), trial.substr(trial.rfind('/') + 1)) == names->end())
      own.failure = Status::badInput("the folder of checkpoints '" + options.folder +
                                     "' is not the folder that the process of rank 0 sees: name a folder that all machines share");
  all = shareNews(session, own);
  if (!all.ok())
    return all.status();
  Status removed = lowest ? guarded([&] { return folder->discard(trial); }) : Status();
  for (const SessionNews &each : *all)
    if (!each.failure.ok())
      return each.failure;
  return removed;
}

/// Reads the counters of fp16. Other trainings have counted every step and scale nothing.
Status CheckpointWriter::Implementation::readCounters() {
  auto read = [&](const char *slot, std::optional<double> &value) -> Status {
    int64_t variable = findState(program, slot);
    if (variable < 0)
      return {};
    Result<std::vector<double>> values = session.read(program.variables()->Get(static_cast<uint32_t>(variable))->name()->str());
    if (values.ok())
      value = (*values)[0];
    return values.status();
  };
  std::optional<double> counted;
  head.lossScale.reset();
  if (Status status = read("loss_scale", head.lossScale); !status.ok())
    return status;
  Status status = read("good_steps", counted);
  head.rateSteps = counted ? static_cast<uint64_t>(std::max(0.0, *counted)) : head.step;
  return status;
}

Status CheckpointWriter::Implementation::save(const TrainingState &training) {
  if (Status status = finish(); !status.ok())
    return status;
  head.step = training.step, head.seed = training.seed, head.data = training.data, head.rate = training.rate;
  head.call.tuned = training.tuned;
  if (Status status = readCounters(); !status.ok()) {
    broken = true;
    return status;
  }
  tries = 0, inFlight = true;
  start();
  if (Status status = session.readPieces(pieces, snapshot.get()); !status.ok())
    failure = status, state = SaveState::Lost; // which `poll` tells to the other sessions too
  else if (lowest)
    spawn([this] { write(); });
  return {};
}

/// A try, of which nothing is done yet. Sessions without rank 0 begin when they hear that the folder is there.
void CheckpointWriter::Implementation::start() {
  partial = CheckpointFolder::partialName(options.folder, head.step, tries == 0 ? tag : tag + "-" + std::to_string(tries + 1));
  shards.clear(), failure = {}, state = SaveState::Working, started = false;
}

void CheckpointWriter::Implementation::spawn(std::function<void()> work) {
  join();
  started = true;
  try {
    thread = std::thread(std::move(work));
  } catch (const std::exception &error) {
    failure = Status::runFailed(std::string("cannot start a thread to write it: ") + error.what());
    state = SaveState::Failed;
  }
}

/// Waits as long as a full disk or a lost network may take to recover. The end of the run ends the wait.
void CheckpointWriter::Implementation::pauseBefore(int retry) {
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(retry ? options.retrySeconds * (1 << (retry - 1)) : 0);
  while (!leaving && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

/// Runs in the thread. The snapshot and its description do not change until it ends.
void CheckpointWriter::Implementation::write() {
  failure = guarded([&] {
    if (lowest) {
      pauseBefore(tries);
      if (Status status = folder->begin(partial, filesToCome()); !status.ok())
        return status;
      state = SaveState::Begun;
    }
    return writeShards();
  });
  if (failure.ok() && alone)
    failure = guarded([&] { return commit(shards); });
  state = !failure.ok() ? SaveState::Failed : alone ? SaveState::Committed : SaveState::Written;
}

/// Shards of all ranks that may own something, and the texts.
std::vector<std::string> CheckpointWriter::Implementation::filesToCome() const {
  std::vector<std::string> files;
  for (int64_t rank : allRanks(program))
    files.push_back(shardName(rank));
  for (const auto &[name, content] : options.texts)
    files.push_back("model/" + name);
  return files;
}

Status CheckpointWriter::Implementation::writeShards() {
  const uint8_t *bytes = snapshot.get();
  for (size_t first = 0, end = 0; first < pieces.size(); first = end) {
    while (end < pieces.size() && pieces[end].rank == pieces[first].rank)
      ++end;
    Result<ShardRecord> shard = writeShard(partial, byVariable, {pieces[first].rank, &pieces[first], end - first, bytes});
    if (!shard.ok())
      return shard.status();
    shards.push_back(std::move(*shard));
    for (size_t i = first; i < end; ++i)
      bytes += pieces[i].elements() * bytesOfType(byVariable[pieces[i].variable]->type);
  }
  return files::syncFolder(partial);
}

Result<Manifest> CheckpointWriter::Implementation::manifestOf(const std::vector<ShardRecord> &shards) const {
  Manifest manifest = head;
  std::vector<std::vector<ManifestPiece>> byTensor(byVariable.size());
  std::vector<OwnedPiece> all = checkpointPieces(program, alone ? ranks : allRanks(program));
  auto next = all.begin();
  for (const ShardRecord &shard : shards) {
    for (const std::string &hash : shard.hashes) {
      if (next == all.end() || next->rank != shard.rank)
        return Status(Code::Internal, "rank " + std::to_string(shard.rank) + " wrote other pieces than the program has");
      byTensor[next->variable].push_back({static_cast<uint32_t>(manifest.files.size()), byVariable[next->variable]->name, next->start,
                                          next->shape, next->begin, next->end, hash});
      ++next;
    }
    manifest.files.push_back({shardName(shard.rank), shard.bytes, ""});
  }
  for (const CheckpointTensor &each : tensors) {
    manifest.tensors.push_back(each.tensor);
    std::vector<ManifestPiece> &list = manifest.tensors.back().pieces = std::move(byTensor[each.variable]);
    std::sort(list.begin(), list.end(),
              [](const ManifestPiece &a, const ManifestPiece &b) { return a.start != b.start ? a.start < b.start : a.begin < b.begin; });
    if (std::string wrong = wrongPieces(manifest.tensors.back()); !wrong.empty())
      return Status(Code::Internal, "tensor '" + each.tensor.name + "': " + wrong);
  }
  return manifest;
}

Status CheckpointWriter::Implementation::commit(const std::vector<ShardRecord> &written) {
  Result<Manifest> manifest = manifestOf(written);
  if (!manifest.ok())
    return manifest.status();
  std::vector<std::string> said;
  Status status = folder->commit(partial, std::move(*manifest), options.texts, said);
  remark(std::move(said));
  if (status.ok())
    removeOld();
  return status;
}

void CheckpointWriter::Implementation::remark(std::vector<std::string> texts) {
  std::lock_guard<std::mutex> lock(shared);
  std::move(texts.begin(), texts.end(), std::back_inserter(remarks));
}

void CheckpointWriter::Implementation::removeOld() {
  std::vector<uint64_t> spared;
  {
    std::lock_guard<std::mutex> lock(shared);
    spared = options.spared;
  }
  std::vector<std::string> said;
  if (options.keep > 0)
    if (Status status = folder->removeOld(options.keep, spared, tag, said); !status.ok())
      said.push_back("an old checkpoint could not be removed: " + status.message());
  remark(std::move(said));
}

SessionNews CheckpointWriter::Implementation::news() const {
  SessionNews own;
  own.state = state;
  if (own.state == SaveState::Failed || own.state == SaveState::Lost)
    own.failure = failure;
  if (own.state == SaveState::Written)
    own.shards = shards;
  return own;
}

/// The news of all sessions.
Status CheckpointWriter::Implementation::heard(const SessionNews &own, std::vector<SessionNews> &all) {
  Result<std::vector<SessionNews>> shared = shareNews(session, own);
  broken = !shared.ok();
  if (shared.ok())
    all = std::move(*shared);
  return shared.status();
}

Status CheckpointWriter::Implementation::poll() {
  if (!inFlight)
    return {};
  std::vector<SessionNews> all;
  if (Status status = heard(news(), all); !status.ok())
    return status;
  auto is = [&](SaveState state) { return [state](const SessionNews &each) { return each.state == state; }; };
  for (SaveState bad : {SaveState::Lost, SaveState::Failed})
    if (auto each = std::find_if(all.begin(), all.end(), is(bad)); each != all.end())
      return fail(each->failure, bad == SaveState::Failed);
  if (std::any_of(all.begin(), all.end(), is(SaveState::Committed)))
    return conclude();
  bool ready = std::any_of(all.begin(), all.end(), [](const SessionNews &each) { return each.state >= SaveState::Begun; });
  if (ready && !started)
    spawn([this] { write(); });
  if (!lowest || alone || !std::all_of(all.begin(), all.end(), is(SaveState::Written)))
    return {};
  std::vector<ShardRecord> everyone;
  for (SessionNews &each : all)
    std::move(each.shards.begin(), each.shards.end(), std::back_inserter(everyone));
  std::sort(everyone.begin(), everyone.end(), [](const ShardRecord &a, const ShardRecord &b) { return a.rank < b.rank; });
  join();
  state = SaveState::Begun;
  spawn([this, everyone = std::move(everyone)] {
    failure = guarded([&] { return commit(everyone); });
    state = failure.ok() ? SaveState::Committed : SaveState::Failed;
  });
  return {};
}

/// All sessions have heard at once that it is whole.
Status CheckpointWriter::Implementation::conclude() {
  join();
  inFlight = false;
  newest = CheckpointFolder::committedName(options.folder, head.step);
  return {};
}

/// All sessions have heard at once that a try has failed: they make the next one together, or give up.
Status CheckpointWriter::Implementation::fail(const Status &outcome, bool mayRetry) {
  join();
  std::vector<SessionNews> all;
  if (Status status = heard({}, all); !status.ok()) // no session writes to the folder any more
    return status;
  if (lowest)
    (void)guarded([&] { return folder->discard(partial); }); // what is left goes when the next run begins
  const std::string what = "checkpoint '" + CheckpointFolder::committedName(options.folder, head.step) + "' was not written: ";
  if (mayRetry && tries < options.retries && outcome.code() != Code::Internal) {
    ++tries;
    remark({what + outcome.message() + "; try " + std::to_string(tries + 1) + " of " + std::to_string(options.retries + 1) + " follows"});
    start();
    if (lowest)
      spawn([this] { write(); });
    return {};
  }
  inFlight = false;
  std::string before = newest.empty() ? "" : "; '" + newest + (hasManifest(newest) ? "' is whole" : "' is not there any more");
  return Status(outcome.code(), what + outcome.message() + before);
}

Status CheckpointWriter::Implementation::finish() {
  while (inFlight) {
    if (Status status = poll(); !status.ok())
      return status;
    if (inFlight)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

void CheckpointWriter::Implementation::join() {
  if (thread.joinable())
    thread.join();
}

CheckpointWriter::CheckpointWriter(std::unique_ptr<Implementation> implementation) : implementation(std::move(implementation)) {}
CheckpointWriter::~CheckpointWriter() {
  implementation->leaving = true;
  implementation->join();
}

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::open(Session &session, std::shared_ptr<const LoadedProgram> program,
                                                                 CheckpointOptions options) {
  auto implementation = std::make_unique<Implementation>(session, std::move(program), std::move(options));
  if (Status status = implementation->open(); !status.ok())
    return status;
  return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(std::move(implementation)));
}

Status CheckpointWriter::save(const TrainingState &state) { return implementation->save(state); }
Status CheckpointWriter::poll() { return implementation->poll(); }
Status CheckpointWriter::finish() { return implementation->finish(); }
bool CheckpointWriter::usable() const { return !implementation->broken; }
void CheckpointWriter::spare(std::vector<uint64_t> steps) {
  std::lock_guard<std::mutex> lock(implementation->shared);
  implementation->options.spared = std::move(steps);
}
void CheckpointWriter::removeOld() {
  if (implementation->lowest && !implementation->inFlight && !implementation->newest.empty())
    implementation->removeOld();
}
Status CheckpointWriter::check() const { return implementation->folder ? implementation->folder->check() : Status(); }
const std::string &CheckpointWriter::newest() const { return implementation->newest; }
std::vector<std::string> CheckpointWriter::takeRemarks() {
  std::lock_guard<std::mutex> lock(implementation->shared);
  return std::exchange(implementation->remarks, {});
}

} // namespace npar::engine

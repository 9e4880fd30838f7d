// Sends messages over MPI. Each MPI library has its own module, so the driver links none and finds the right one at run time.
#include "engine/comm/mpi/MpiModule.h"

#define MPICH_SKIP_MPICXX // the old C++ interfaces of both libraries
#define OMPI_SKIP_MPICXX
#include <climits>
#include <mpi.h>
#include <string>
#include <vector>

namespace npar::engine {

namespace {

Status failed(const char *call, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Status::runFailed(std::string(call) + ": " + std::string(text, static_cast<size_t>(length)));
}

/// "MPICH 4.0.2", "Open MPI 4.1.4": the libraries word it as "MPICH Version:\t4.0.2\n..." and "Open MPI v4.1.4, package: ...".
std::string libraryName() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string all(text, static_cast<size_t>(length));
  size_t begin = all.find_first_of("0123456789"), end = all.find_first_not_of("0123456789.", begin);
  std::string version = begin == std::string::npos ? all : all.substr(begin, end - begin);
  return std::string(NPAR_MPI_LIBRARY) + " " + version;
}

class MpiTransport final : public Transport {
public:
  Status open();
  std::string name() const override { return libraryName(); }
  uint32_t processes() const override { return static_cast<uint32_t>(size); }
  uint32_t process() const override { return static_cast<uint32_t>(rank); }
  uint32_t greatestTag() const override { return tags; }
  void send(uint32_t to, uint32_t tag, const void *bytes, size_t size, MessageDone &done) override;
  void receive(uint32_t from, uint32_t tag, void *bytes, size_t size, MessageDone &done) override;
  bool progress() override;
  Status leave() override;

private:
  struct Message {
    MessageDone *done;
    int bytes; ///< expected size of a receive; -1: a send
  };
  void add(MPI_Request request, MessageDone &done, int bytes);
  /// Tells what has failed to start, at the next `progress`.
  void refuse(MessageDone &done, Status status) { refused.emplace_back(&done, std::move(status)); }

  MPI_Comm world = MPI_COMM_NULL;
  int rank = 0, size = 1;
  uint32_t tags = 0;
  std::vector<MPI_Request> requests;
  std::vector<Message> messages; ///< by place in `requests`
  std::vector<int> finished;
  std::vector<MPI_Status> statuses;
  std::vector<std::pair<MessageDone *, Status>> refused;
};

Status MpiTransport::open() {
  int provided = 0;
  if (int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided); code != MPI_SUCCESS)
    return Status::runFailed(std::string(NPAR_MPI_LIBRARY) + " does not start: MPI_Init_thread returned " + std::to_string(code));
  if (provided < MPI_THREAD_FUNNELED)
    return Status::runFailed(libraryName() + " was built without threads: npar needs MPI_THREAD_FUNNELED");
  // A communicator of our own: no message of anyone else's is taken for one of ours.
  if (int code = MPI_Comm_dup(MPI_COMM_WORLD, &world); code != MPI_SUCCESS)
    return failed("MPI_Comm_dup", code);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  int *greatest = nullptr, found = 0;
  MPI_Comm_get_attr(world, MPI_TAG_UB, &greatest, &found);
  tags = found ? static_cast<uint32_t>(*greatest) : 32767; // the least that the standard allows
  return {};
}

void MpiTransport::add(MPI_Request request, MessageDone &done, int bytes) {
  requests.push_back(request);
  messages.push_back({&done, bytes});
}

void MpiTransport::send(uint32_t to, uint32_t tag, const void *bytes, size_t size, MessageDone &done) {
  if (size > INT_MAX)
    return refuse(done, Status(Code::Internal, "a message of " + std::to_string(size) + " bytes is too large for MPI"));
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, static_cast<int>(to), static_cast<int>(tag), world, &request);
  if (code != MPI_SUCCESS)
    return refuse(done, failed("MPI_Isend", code));
  add(request, done, -1);
}

void MpiTransport::receive(uint32_t from, uint32_t tag, void *bytes, size_t size, MessageDone &done) {
  if (size > INT_MAX)
    return refuse(done, Status(Code::Internal, "a message of " + std::to_string(size) + " bytes is too large for MPI"));
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, static_cast<int>(from), static_cast<int>(tag), world, &request);
  if (code != MPI_SUCCESS)
    return refuse(done, failed("MPI_Irecv", code));
  add(request, done, static_cast<int>(size));
}

bool MpiTransport::progress() {
  std::vector<std::pair<MessageDone *, Status>> told;
  told.swap(refused);
  int count = 0;
  finished.resize(requests.size()), statuses.resize(requests.size());
  int code = requests.empty() ? MPI_SUCCESS
                              : MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, finished.data(), statuses.data());
  if (count == MPI_UNDEFINED)
    count = 0;
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)
    return messages.front().done->messageDone(failed("MPI_Testsome", code)), true;
  for (int i = 0; i < count; ++i) {
    const Message &message = messages[static_cast<size_t>(finished[i])];
    Status status;
    int bytes = 0;
    if (code == MPI_ERR_IN_STATUS && statuses[i].MPI_ERROR != MPI_SUCCESS)
      status = failed("a message", statuses[i].MPI_ERROR);
    else if (message.bytes >= 0 && (MPI_Get_count(&statuses[i], MPI_BYTE, &bytes), bytes != message.bytes))
      status = Status::runFailed("process " + std::to_string(statuses[i].MPI_SOURCE) + " sent a message of " + std::to_string(bytes) +
                                 " bytes where " + std::to_string(message.bytes) + " were expected");
    told.emplace_back(message.done, std::move(status));
  }
  // Remove finished messages before notifying, because a notified object may start others. The library does not depend on their order.
  size_t kept = 0;
  for (size_t i = 0; count > 0 && i < requests.size(); ++i)
    if (requests[i] != MPI_REQUEST_NULL)
      requests[kept] = requests[i], messages[kept] = messages[i], ++kept;
  if (count > 0)
    requests.resize(kept), messages.resize(kept);
  for (const auto &[done, status] : told)
    done->messageDone(status);
  return !told.empty();
}

Status MpiTransport::leave() {
  // Receives without a matching send are cancelled.
  for (size_t i = 0; i < requests.size(); ++i)
    if (messages[i].bytes >= 0)
      MPI_Cancel(&requests[i]);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear(), messages.clear();
  MPI_Comm_free(&world);
  int code = MPI_Finalize();
  return code == MPI_SUCCESS ? Status() : Status::runFailed("MPI_Finalize returned " + std::to_string(code));
}

} // namespace

} // namespace npar::engine

extern "C" npar::engine::Result<std::unique_ptr<npar::engine::Transport>> *nparOpenMpiTransport() {
  using namespace npar::engine;
  auto transport = std::make_unique<MpiTransport>();
  Status status = transport->open();
  if (!status.ok())
    return new Result<std::unique_ptr<Transport>>(status);
  return new Result<std::unique_ptr<Transport>>(std::unique_ptr<Transport>(std::move(transport)));
}

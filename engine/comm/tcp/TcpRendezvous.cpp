// Connects all processes by handshakes and a table of listening ports, which process 0 sends to the others.
#include "engine/comm/tcp/TcpRendezvous.h"

#include <algorithm>

namespace npar::engine {

namespace {

constexpr uint32_t mostProcesses = 1 << 16; ///< limit on the size of tables, whatever a launcher says

/// A listening address and port. Address 0 stands for the host of process 0, at the address that the reader uses to reach it.
struct Place {
  uint32_t address, port;
};

class Rendezvous {
public:
  explicit Rendezvous(const TcpJob &job) : job(job), deadline(job.seconds), terms{job.name, job.process, job.processes, job.key} {}
  Result<TcpMeeting> run();

private:
  Status findFirst();
  Result<TcpMeeting> asFirst();
  Result<TcpMeeting> asOther();
  Result<std::vector<Place>> readPlaces(int first) const;
  std::string nameOf(uint32_t process) const {
    return "process " + std::to_string(process) + (process == 0 ? ", at " + job.address + "," : "");
  }

  const TcpJob &job;
  const Deadline deadline;
  const HandshakeTerms terms;
  std::vector<uint32_t> first; ///< addresses of process 0's host
};

Result<TcpMeeting> Rendezvous::run() {
  if (job.processes > mostProcesses)
    return Status::badInput("a job of " + std::to_string(job.processes) + " processes is too large for TCP, which joins " +
                            std::to_string(mostProcesses) + " at most");
  if (Status status = findFirst(); !status.ok())
    return status;
  return job.process == 0 ? asFirst() : asOther();
}

/// Looks process 0's host up; without a key only this host itself may be meant.
Status Rendezvous::findFirst() {
  Result<std::vector<uint32_t>> found = addressesOf(job.address);
  if (!found.ok())
    return found.status();
  first = std::move(*found);
  for (uint32_t address : first)
    if (!job.key && !isLoopback(address))
      return Status::badInput(
          "process 0 must listen at " + textOf(address) + " (" + job.addressFrom + " says '" + job.address +
          "'), which other hosts can reach, but there is no job secret that identifies its processes. Add this line "
          "to the script that starts all of them:\n  " +
          secretLine +
          "\nor write a secret to a file with mode 0600 on every host and set NPAR_JOB_SECRET_FILE to its path; processes "
          "of one user on one host need no secret with the address 127.0.0.1 there");
  return {};
}

Result<TcpMeeting> Rendezvous::asFirst() {
  // A name may stand for the loopback too on its own host: other hosts do not reach that.
  std::stable_partition(first.begin(), first.end(), [](uint32_t address) { return !isLoopback(address); });
  auto own = std::find_if(first.begin(), first.end(), isOwnAddress);
  if (own == first.end())
    return Status::badInput(
        "process 0 must run on the host that " + job.addressFrom + " names, but '" + job.address + "'" +
        (first.empty() ? " has no address" : " is " + textOf(first.front()) + ", no address of host '" + hostName() + "'"));
  TcpMeeting meeting;
  meeting.address = *own;
  Result<Listener> listener = listenAt(meeting.address, job.port);
  if (!listener.ok())
    return listener.status();
  Result<std::vector<Arrival>> arrived = acceptProven(listener->socket.get(), terms, 1, deadline, job.remark);
  if (!arrived.ok())
    return Status(arrived.status().code(),
                  arrived.status().message() + (arrived.status().code() == Code::Timeout && isLoopback(*own)
                                                    ? "; process 0 listens only at " + textOf(*own) + ", which no other host can reach"
                                                    : ""));
  std::vector<Place> places(job.processes);
  for (uint32_t process = 1; process < job.processes; ++process) {
    uint32_t address = (*arrived)[process].address;
    places[process] = {!isLoopback(address) && isOwnAddress(address) ? 0 : address, (*arrived)[process].port};
  }
  meeting.sockets.resize(job.processes);
  for (uint32_t process = 1; process < job.processes; ++process) {
    meeting.sockets[process] = std::move((*arrived)[process].socket);
    if (Status status =
            sendExactly(meeting.sockets[process].get(), places.data(), places.size() * sizeof(Place), nameOf(process), deadline);
        !status.ok())
      return status;
  }
  return meeting;
}

Result<std::vector<Place>> Rendezvous::readPlaces(int socket) const {
  std::vector<Place> places(job.processes);
  if (Status status = receiveExactly(socket, places.data(), places.size() * sizeof(Place), "process 0", deadline); !status.ok())
    return status;
  for (uint32_t process = 1; process < job.processes; ++process)
    if (places[process].port == 0 || places[process].port > UINT16_MAX)
      return Status::runFailed("process 0 says that process " + std::to_string(process) + " listens at port " +
                               std::to_string(places[process].port));
  return places;
}

Result<TcpMeeting> Rendezvous::asOther() {
  TcpMeeting meeting;
  meeting.sockets.resize(job.processes);
  Listener listener;
  auto listenWhereTheRouteBegins = [&](uint32_t address) -> Result<uint16_t> {
    if (!listener.socket || address != meeting.address) {
      Result<Listener> made = listenAt(address);
      if (!made.ok())
        return made.status();
      listener = std::move(*made), meeting.address = address;
    }
    return listener.port;
  };
  Result<files::Descriptor> toFirst = connectProven(first, job.port, terms, 0, listenWhereTheRouteBegins, nameOf(0), deadline);
  if (!toFirst.ok())
    return toFirst.status();
  meeting.sockets[0] = std::move(*toFirst);
  Result<std::vector<Place>> places = readPlaces(meeting.sockets[0].get());
  if (!places.ok())
    return places.status();
  auto nowhere = [](uint32_t) { return Result<uint16_t>(uint16_t{0}); };
  for (uint32_t process = 1; process < job.process; ++process) {
    const Place &place = (*places)[process];
    std::vector<uint32_t> at = place.address ? std::vector<uint32_t>{place.address} : first;
    Result<files::Descriptor> socket =
        connectProven(at, static_cast<uint16_t>(place.port), terms, process, nowhere, nameOf(process), deadline);
    if (!socket.ok())
      return socket.status();
    meeting.sockets[process] = std::move(*socket);
  }
  Result<std::vector<Arrival>> arrived = acceptProven(listener.socket.get(), terms, job.process + 1, deadline, job.remark);
  if (!arrived.ok())
    return arrived.status();
  for (uint32_t process = job.process + 1; process < job.processes; ++process)
    meeting.sockets[process] = std::move((*arrived)[process].socket);
  return meeting;
}

} // namespace

Result<TcpMeeting> meetByTcp(const TcpJob &job) { return Rendezvous(job).run(); }

} // namespace npar::engine

// Work that takes place at the same time and shares what it needs: links, cores. Time goes from one end of an activity to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace npar::cost {

/// Simulates activities that share resources. Each takes a given number of seconds at full speed while it uses given amounts of some
/// resources. If running activities demand more of a resource than its capacity, all of them slow down in the same proportion.
class Activities {
public:
  struct Share {
    uint32_t resource = 0;
    double wanted = 1;
  };

  uint32_t addResource(double capacity);
  /// Begins an activity at the current time. `next` returns its `id` when it ends.
  void begin(uint32_t id, double seconds, std::vector<Share> shares);
  /// Advances the time to the end of the next activity and returns its `id`. An activity must be running.
  uint32_t next();
  bool empty() const { return running == 0; }
  double now() const { return time; }

private:
  struct Resource {
    double capacity = 1, wanted = 0;
    std::vector<uint32_t> users; ///< activities under way
  };
  struct Activity {
    uint32_t id = 0, version = 0;
    double left = 0, speed = 1, since = 0; ///< seconds at full speed that were left at `since`
    uint64_t order = 0;                    ///< position in the order in which activities began
    bool runs = false;
    std::vector<Share> shares;
  };
  struct End {
    double at;
    uint64_t order; ///< breaks ties: the activity that began first ends first
    uint32_t activity, version;
    bool operator<(const End &other) const { return at != other.at ? at > other.at : order > other.order; }
  };
  double time = 0;
  size_t running = 0;
  uint64_t orders = 0;
  std::vector<Resource> resources;
  std::vector<Activity> activities;
  std::vector<uint32_t> unused; ///< places in `activities`
  std::priority_queue<End> ends;

  double speedOf(const Activity &activity) const;
  /// The activities that share a resource with this one have other speeds from now on.
  void adjust(uint32_t activity);
  void schedule(uint32_t place);
};

} // namespace npar::cost

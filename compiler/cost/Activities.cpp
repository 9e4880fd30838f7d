// Speeds change where an activity that shares a resource begins or ends.
#include "compiler/cost/Activities.h"

#include <algorithm>
#include <utility>

namespace npar::cost {

uint32_t Activities::addResource(double capacity) {
  resources.push_back({capacity, 0, {}});
  return static_cast<uint32_t>(resources.size()) - 1;
}

double Activities::speedOf(const Activity &activity) const {
  double speed = 1;
  for (const Share &share : activity.shares)
    if (const Resource &resource = resources[share.resource]; resource.wanted > resource.capacity)
      speed = std::min(speed, resource.capacity / resource.wanted);
  return speed;
}

void Activities::schedule(uint32_t place) {
  Activity &activity = activities[place];
  ends.push({time + activity.left / activity.speed, activity.order, place, ++activity.version});
}

void Activities::adjust(uint32_t place) {
  for (const Share &share : activities[place].shares)
    for (uint32_t other : resources[share.resource].users) {
      Activity &one = activities[other];
      double speed = speedOf(one);
      if (speed == one.speed)
        continue;
      one.left = std::max(0.0, one.left - (time - one.since) * one.speed);
      one.since = time;
      one.speed = speed;
      schedule(other);
    }
}

void Activities::begin(uint32_t id, double seconds, std::vector<Share> shares) {
  uint32_t place;
  if (unused.empty()) {
    place = static_cast<uint32_t>(activities.size());
    activities.emplace_back();
  } else {
    place = unused.back();
    unused.pop_back();
  }
  Activity &activity = activities[place];
  activity.id = id, activity.order = orders++, activity.left = seconds, activity.since = time, activity.runs = true;
  activity.shares = std::move(shares);
  for (const Share &share : activity.shares) {
    resources[share.resource].wanted += share.wanted;
    resources[share.resource].users.push_back(place);
  }
  activity.speed = speedOf(activity);
  ++running;
  schedule(place);
  adjust(place);
}

uint32_t Activities::next() {
  while (!activities[ends.top().activity].runs || activities[ends.top().activity].version != ends.top().version)
    ends.pop();
  End end = ends.top();
  ends.pop();
  time = end.at;
  Activity &activity = activities[end.activity];
  activity.runs = false;
  --running;
  for (const Share &share : activity.shares) {
    Resource &resource = resources[share.resource];
    resource.users.erase(std::find(resource.users.begin(), resource.users.end(), end.activity));
    resource.wanted = resource.users.empty() ? 0 : resource.wanted - share.wanted;
  }
  adjust(end.activity);
  unused.push_back(end.activity);
  return activity.id;
}

} // namespace npar::cost

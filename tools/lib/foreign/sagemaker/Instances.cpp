// Accelerators of EC2 instance types, from Amazon's tables of accelerated instances. A size that is not listed has one.
#include "tools/lib/foreign/sagemaker/SageMaker.h"

#include <map>

namespace npar::foreign {

std::optional<int64_t> devicesOfInstance(const std::string &type) {
  struct Family {
    int64_t others;                        ///< devices of sizes that are not listed; 0: there are none
    std::map<std::string, int64_t> listed; ///< by size
  };
  static const std::map<std::string, Family> families = {{"p2", {0, {{"xlarge", 1}, {"8xlarge", 8}, {"16xlarge", 16}}}},
                                                         {"p3", {0, {{"2xlarge", 1}, {"8xlarge", 4}, {"16xlarge", 8}}}},
                                                         {"p3dn", {0, {{"24xlarge", 8}}}},
                                                         {"p4d", {0, {{"24xlarge", 8}}}},
                                                         {"p4de", {0, {{"24xlarge", 8}}}},
                                                         {"p5", {0, {{"4xlarge", 1}, {"48xlarge", 8}}}},
                                                         {"p5e", {0, {{"48xlarge", 8}}}},
                                                         {"p5en", {0, {{"48xlarge", 8}}}},
                                                         {"p6-b200", {0, {{"48xlarge", 8}}}},
                                                         {"g4dn", {1, {{"12xlarge", 4}, {"metal", 8}}}},
                                                         {"g5", {1, {{"12xlarge", 4}, {"24xlarge", 4}, {"48xlarge", 8}}}},
                                                         {"g6", {1, {{"12xlarge", 4}, {"24xlarge", 4}, {"48xlarge", 8}}}},
                                                         {"g6e", {1, {{"12xlarge", 4}, {"24xlarge", 4}, {"48xlarge", 8}}}},
                                                         {"trn1", {0, {{"2xlarge", 2}, {"32xlarge", 32}}}},
                                                         {"trn1n", {0, {{"32xlarge", 32}}}},
                                                         {"trn2", {0, {{"48xlarge", 64}}}}};
  static const char *processorsOnly[] = {"c4", "c5", "c5n", "c6i", "c7i", "m4", "m5", "m6i", "m7i", "r5", "t3"};
  const std::string prefix = "ml.";
  if (type.compare(0, prefix.size(), prefix) != 0)
    return std::nullopt;
  const size_t dot = type.find('.', prefix.size());
  if (dot == std::string::npos || dot + 1 == type.size())
    return std::nullopt;
  const std::string family = type.substr(prefix.size(), dot - prefix.size()), size = type.substr(dot + 1);
  for (const char *one : processorsOnly)
    if (family == one)
      return 0;
  auto known = families.find(family);
  if (known == families.end())
    return std::nullopt;
  auto listed = known->second.listed.find(size);
  const int64_t devices = listed == known->second.listed.end() ? known->second.others : listed->second;
  return devices > 0 ? std::optional(devices) : std::nullopt;
}

} // namespace npar::foreign

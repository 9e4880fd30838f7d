// The figures of a plan on a machine by a simulated training step: time, use of the devices, memory, messages.
#pragma once

#include "compiler/cost/Simulation.h"
#include "engine/json/JsonForward.h"
#include "engine/program/HostPlacement.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace npar::planner {

/// Floating-point operations of a training step, all ranks together.
///
///   model      products and attention, forward and backward, what is repeated or computed on several ranks once; attention counts whole
///              though a causal mask leaves half of it out: the numerator of MFU (Chowdhery et al. 2022, "PaLM", appendix B; "model FLOPs"
///              of Korthikanti et al. 2022, section 6.3)
///   hardware   those that the ranks execute, what is recomputed too, attention as above: that of HFU ("hardware FLOPs" there)
struct StepFlops {
  double model = 0, hardware = 0;
};

StepFlops flopsOf(const program::Program &program);

/// Bytes that a rank sends over the links along mesh axes: the rank that sends most.
struct AxisBytes {
  std::string over; ///< "dp", "pp,tp"
  double bytes = 0;
};

/// The share of a kind of hosts in the ranks on an uneven machine.
struct KindShare {
  std::string name; ///< as the machine's file names it
  int64_t hosts = 0, ranks = 0;
  uint64_t memory = 0;       ///< bytes of its largest rank, and what the machine reserves
  double room = 0;           ///< bytes of its devices
  std::set<uint32_t> stages; ///< of which it has ranks
};

struct Prediction {
  std::string machine;
  int64_t ranks = 1, hosts = 1;
  double seconds = 0;
  double worst = 0; ///< seconds if every rank gets all rows of experts that it has room for; 0: there are none
  int64_t batch = 0;
  StepFlops flops;
  double peak = 0;                   ///< FLOP/s of one rank in the type that the plan computes in; of an uneven machine the mean
  bool peakIsStated = true;          ///< false: measured with products
  double bubble = 0;                 ///< share of all ranks' time in which they neither compute nor communicate
  double computing = 0, exposed = 0; ///< shares of all ranks' time; exposed: communicates and does not compute
  uint64_t memory = 0;               ///< bytes of the largest rank: its arena, and what the machine reserves
  uint64_t fullest = 0;              ///< the same of the rank that fills the most of its device: on an uneven machine perhaps another one
  double room = 0;                   ///< bytes of that device; 0: the machine does not say
  double allowance = 0;              ///< of them, what is lost between allocations
  std::vector<AxisBytes> bytes;      ///< as the mesh has its axes
  double price = 0;                  ///< dollars of an hour on all hosts; 0: unknown
  std::vector<KindShare> kinds;      ///< on an uneven machine: those with ranks
  cost::Simulation simulation;

  double mfu() const { return flops.model / (seconds * peak * static_cast<double>(ranks)); }
  double hfu() const { return flops.hardware / (seconds * peak * static_cast<double>(ranks)); }
  bool fits() const { return static_cast<double>(fullest) <= room - allowance; }
};

/// The seconds of a step in a run by a simulated one: on devices, where each rank starts the next step in its own time, the period.
double secondsPerStep(const cost::Machine &machine, const cost::Simulation &simulation);

/// The hosts of the machine that the ranks fill, one after the other. `hosts`: their number, which must be right; 0: as many as the ranks
/// take.
engine::Result<std::vector<program::HostRoom>> roomsFor(const dsl::Machine &machine, int64_t ranks, int64_t hosts);

/// The same for ranks that are spread evenly over `hosts`. If they cannot be, they fill hosts one after the other.
engine::Result<std::vector<program::HostRoom>> roomsSpreadOver(const dsl::Machine &machine, int64_t ranks, int64_t hosts);

/// Simulates a step. `places`: the ranks of each host. The program was compiled for the machine.
engine::Result<Prediction> predict(const program::Program &program, const cost::Machine &machine,
                                   const std::vector<std::vector<int64_t>> &places, const cost::Deviations &deviations = {});

/// `{machine, ranks, hosts, seconds_per_step, memory_bytes, fits, mfu, hfu, bubble, ...}`; what the machine does not say is null.
OrderedJson predictionJson(const program::Program &program, const Prediction &prediction);
std::string predictionText(const program::Program &program, const Prediction &prediction);

/// A line of the table.
std::string predictionRow(const std::string &name, const std::string &value, const std::string &remark = "");
std::string secondsText(double seconds);

} // namespace npar::planner

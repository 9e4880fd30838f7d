// Describes how a run trains: optimizer, learning rate, clipping and seed, each with where its value comes from.
#pragma once

#include "dsl/Program.h"

#include <optional>
#include <string>
#include <vector>

namespace npar::foreign {

class ForeignProgram;

/// Where a value comes from. A value of npar's own completes npar's text, is marked there, and is never written for another program.
enum class Origin {
  File,    ///< the file, or a flag of the npar command
  Program, ///< the other program's default
  Npar,    ///< npar's choice, because neither of them states it
  Instead, ///< npar's value in place of one that the file states and npar lacks; the file's is named
};

template <class Value> struct Setting {
  Value value{};
  Origin origin = Origin::Npar;
};

struct Training {
  Setting<std::string> optimizer{"AdamW"};                          ///< one of the standard library
  Setting<double> rate{1e-4};                                       ///< peak of the learning rate
  Setting<dsl::ScheduleKind> schedule{dsl::ScheduleKind::Constant}; ///< of the learning rate
  Setting<int64_t> warmup, steps;                                   ///< training steps; `steps`: unused by a constant schedule
  std::optional<double> warmupShare;                                ///< of the run's steps, in place of `warmup`
  bool endsWithRun = false;                                         ///< the schedule ends with the run, in place of `steps`
  Setting<double> final;                                            ///< the learning rate at `steps`
  Setting<double> beta1{0.9}, beta2{0.999}, epsilon{1e-8};          ///< of AdamW and Adam
  Setting<double> momentum;                                         ///< of Sgd
  Setting<double> decay;                                            ///< weight decay
  Setting<double> clip;                                             ///< largest norm of the gradients; 0: they are not clipped
  Setting<uint64_t> seed;
  bool decaysVectors = true; ///< false: the weight decay leaves out parameters of one dimension (biases and norms)

  /// Tells whether the optimizer has betas and an epsilon; otherwise it has a momentum.
  bool hasBetas() const { return optimizer.value != "Sgd"; }
  /// The names of the settings that affect the run and have this origin, as npar's text calls them.
  std::vector<std::string> settingsFrom(Origin origin) const;
};

/// Collects the settings of an elaborated train block. All of it counts as the file's, except what `read` has from elsewhere and is
/// unchanged.
Training trainingOf(const dsl::Program &program, const Training *read = nullptr);

/// Tells whether the train block decays some parameters differently from others, other than by leaving out all of one dimension.
bool decaysUnevenly(const dsl::Program &program);

/// Patterns of a `for` rule that cover the parameters of one dimension and no other.
std::vector<std::string> vectorPatterns(const dsl::Model &model);

/// The lines of npar's train block from `optimizer` on. Comments name the values that are not the file's. `vectors`: see vectorPatterns.
std::string trainingLines(const Training &training, const ForeignProgram &program, const std::vector<std::string> &vectors);

} // namespace npar::foreign

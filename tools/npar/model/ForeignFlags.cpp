// Defines and checks the flags of another program's run.
#include "tools/npar/model/ForeignFlags.h"

#include "tools/lib/foreign/ForeignProgram.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Talk.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace npar::driver {

void addProgramFlag(CLI::App &app, const std::string &flag, const foreign::ForeignProgram *&program, const std::string &does,
                    bool written) {
  app.add_option_function<std::string>(
         flag, [&program](const std::string &key) { program = foreign::findProgram(key); }, does)
      ->type_name("PROGRAM")
      ->check(CLI::IsMember(foreign::programKeys(written)));
}

void ForeignFlags::addTo(CLI::App &app, bool withWorld) {
  app.option_defaults()->group("Run of another program");
  app.add_option("--from", from, "run of another program, instead of MODEL: " + foreign::programFiles())
      ->type_name("FILE")
      ->check(notEmpty());
  app.add_option("--model-config", modelConfig, "with --from: config.json of the model, or its folder")
      ->type_name("PATH")
      ->check(notEmpty());
  addProgramFlag(app, "--from-format", program, "with --from: the program that the file belongs to (default: recognized by its contents)",
                 /*written=*/false);
  if (withWorld)
    app.add_option("--world", world, "with --from: number of devices (default: all of --hosts, else as in the file)")
        ->type_name("N")
        ->check(wholeNumber(1, int64_t{1} << 20));
  app.add_option_function<std::vector<std::string>>(
         "--env",
         [this](const std::vector<std::string> &settings) {
           for (const std::string &one : settings)
             environment[one.substr(0, one.find('='))] = one.substr(one.find('=') + 1);
         },
         "with --from: value of a variable that the script leaves open, or of its argument 1 (repeatable)")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->check(CLI::Validator(
          [](const std::string &text) { return text.find('=') == std::string::npos || text[0] == '=' ? "it needs NAME=VALUE" : ""; }, "",
          "NAME=VALUE"));
  app.add_flag("--print-plan", printPlan,
               "with --from: print the resulting plan, with what was assumed and not taken in comments, and stop");
}

ExitCode ForeignFlags::takeWorld(ModelOptions &model) {
  std::optional<std::string> given = models::takeSetting(model.settings, "world");
  if (!given)
    return ExitCode::Good;
  const char *end = given->data() + given->size();
  auto [read, error] = std::from_chars(given->data(), end, world);
  if (error != std::errc() || read != end || world < 1 || world > int64_t{1} << 20)
    return fail(ExitCode::Usage, "with --from, the number of ranks is a whole number from 1 to 1048576, not '" + *given + "'");
  return ExitCode::Good;
}

ExitCode ForeignFlags::check(ModelOptions &model) {
  if (from.empty()) {
    const char *flag = modelConfig            ? "--model-config"
                       : program              ? "--from-format"
                       : world                ? "--world"
                       : !environment.empty() ? "--env"
                       : printPlan            ? "--print-plan"
                                              : nullptr;
    if (flag)
      return fail(ExitCode::Usage, std::string(flag) + " needs --from FILE");
    return model.model.empty() ? fail(ExitCode::Usage, "give MODEL or --from FILE") : ExitCode::Good;
  }
  if (!model.model.empty())
    return fail(ExitCode::Usage, "--from provides model and plan; remove '" + model.model + "'");
  if (ExitCode code = takeWorld(model); code != ExitCode::Good)
    return code;
  const char *flag = model.plan ? "--plan" : model.train ? "--train" : model.config ? "--config" : nullptr;
  return flag ? fail(ExitCode::Usage, std::string(flag) + " cannot be used with --from, which makes its own model and plan")
              : ExitCode::Good;
}

Outcome<std::shared_ptr<foreign::ForeignModel>> ForeignFlags::take(ModelOptions &model, engine::Observer &observer) {
  if (from.empty())
    return std::shared_ptr<foreign::ForeignModel>();
  if (ExitCode code = takeWorld(model); code != ExitCode::Good) // that of --devices
    return code;
  otherwise = model.world;
  Outcome<foreign::ForeignModel> made = reported(foreign::modelOfRun(*this, model, /*devices=*/0, observer));
  if (!made.ok())
    return made.code();
  if (ExitCode code = checkPlan(*made); code != ExitCode::Good)
    return code;
  model = made->options;
  return std::make_shared<foreign::ForeignModel>(std::move(*made));
}

ExitCode ForeignFlags::checkPlan(const foreign::ForeignModel &model) const {
  if (!printPlan || model.options.settings.empty())
    return ExitCode::Good;
  return fail(ExitCode::Usage, "--print-plan prints the file's own plan; '--set " + model.options.settings.front() +
                                   "' changes the plan: change it in the printed text instead");
}

} // namespace npar::driver

#include "tools/api/library/KeptRequest.h"
#include "tools/api/Texts.h"

namespace npar::api {

KeptRequest::KeptRequest(const npar_request &request)
    : given(request), kind(request.kind), text(textOf(request.text)), name(textOf(request.name)), file(textOf(request.file)),
      folder(textOf(request.folder)), plan(textOf(request.plan)), train(textOf(request.train)), config(textOf(request.config)),
      machine(textOf(request.machine)), hasText(request.text.ptr) {
  for (size_t i = 0; i < request.setting_count; ++i)
    settingTexts.emplace_back(textOf(request.settings[i].key), textOf(request.settings[i].value));
  for (size_t i = 0; i < request.target_count; ++i)
    targetTexts.push_back(textOf(request.targets[i]));
  for (const auto &[key, value] : settingTexts)
    settings.push_back({strOf(key), strOf(value)});
  for (const std::string &target : targetTexts)
    targets.push_back(strOf(target));
}

npar_request KeptRequest::common() const {
  npar_request request = {};
  request.struct_size = sizeof request;
  request.kind = kind;
  request.text = hasText ? strOf(text) : npar_str{};
  request.name = strOf(name), request.file = strOf(file), request.folder = strOf(folder);
  request.plan = strOf(plan), request.train = strOf(train), request.config = strOf(config), request.machine = strOf(machine);
  request.settings = settings.data(), request.setting_count = settings.size();
  request.targets = targets.data(), request.target_count = targets.size();
  request.without_kernels = given.without_kernels;
  return request;
}

npar_request KeptRequest::recording() {
  npar_request request = common();
  request.observer = given.observer, request.stop = given.stop;
  if (!given.import)
    return request;
  request.import_user = this;
  request.import = [](void *user, npar_str wanted, npar_str *found) {
    auto &self = *static_cast<KeptRequest *>(user);
    npar_str own = {};
    if (!self.given.import(self.given.import_user, wanted, &own))
      return 0;
    if (!own.ptr) {
      if (self.wrongImport.ok())
        self.wrongImport = engine::Status::usage("npar_request: import returned 1 for '" + textOf(wanted) + "', and its text is null");
      return 0;
    }
    *found = strOf(self.imports[textOf(wanted)] = textOf(own));
    return 1;
  };
  return request;
}

npar_request KeptRequest::replaying(npar_kind other, npar_observer observer, npar_stop *stop) const {
  npar_request request = common();
  request.kind = other;
  request.observer = observer, request.stop = stop;
  if (imports.empty())
    return request;
  request.import_user = const_cast<KeptRequest *>(this);
  request.import = [](void *user, npar_str wanted, npar_str *found) {
    const auto &self = *static_cast<const KeptRequest *>(user);
    auto kept = self.imports.find(textOf(wanted));
    if (kept == self.imports.end())
      return 0;
    *found = strOf(kept->second);
    return 1;
  };
  return request;
}

} // namespace npar::api

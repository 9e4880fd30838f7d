// A GPU in use: its context, modules and memory.
#include "engine/backends/cuda/driver/CudaDevice.h"

namespace npar::engine::cuda {

Result<DeviceIdentity> identify(const CudaDriver &driver, int ordinal) {
  const Functions &call = driver.call();
  std::string what = "asking what GPU " + std::to_string(ordinal) + " is";
  DeviceNumber number = 0;
  char name[256] = {};
  size_t bytes = 0;
  int major = 0, minor = 0;
  DeviceIdentity identity;
  for (Code code : {call.deviceGet(&number, ordinal), call.deviceGetName(name, sizeof name, number), call.deviceTotalMem(&bytes, number),
                    call.deviceGetAttribute(&major, DeviceAttribute::ComputeCapabilityMajor, number),
                    call.deviceGetAttribute(&minor, DeviceAttribute::ComputeCapabilityMinor, number),
                    call.deviceGetAttribute(&identity.multiprocessors, DeviceAttribute::MultiprocessorCount, number)})
    if (Status status = driver.check(code, what); !status.ok())
      return status;
  identity.name = name, identity.bytes = bytes, identity.architecture = 10 * major + minor;
  return identity;
}

static Status tooOld(const DeviceIdentity &identity, int ordinal) {
  return Status::badInput(identity.label(ordinal) + " is sm_" + std::to_string(identity.architecture) + ": npar needs sm_" +
                          std::to_string(oldestArchitecture) + " or newer");
}

Result<std::string> targetOfMachine() {
  Result<const CudaDriver *> driver = CudaDriver::open();
  if (!driver.ok())
    return driver.status();
  Result<DeviceIdentity> identity = identify(**driver, 0);
  if (!identity.ok())
    return identity.status();
  std::string target = targetFor(identity->architecture);
  return target.empty() ? Result<std::string>(tooOld(*identity, 0)) : target;
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const CudaDriver &driver, int ordinal) {
  Result<DeviceIdentity> identity = identify(driver, ordinal);
  if (!identity.ok())
    return identity.status();
  if (identity->architecture < oldestArchitecture)
    return tooOld(*identity, ordinal);
  DeviceNumber number = 0;
  Handle context = nullptr;
  std::string label = identity->label(ordinal);
  Code code = driver.call().deviceGet(&number, ordinal);
  if (code == Code::Success)
    code = driver.call().primaryContextRetain(&context, number);
  if (Status status = driver.check(code, "opening " + label); !status.ok())
    return status;
  std::unique_ptr<CudaDevice> device(new CudaDevice(driver, number, context, *identity, label));
  device->enter();
  return device;
}

CudaDevice::~CudaDevice() {
  enter();
  for (Handle module : modules)
    driver.call().moduleUnload(module);
  driver.call().primaryContextRelease(number);
}

Result<std::vector<Handle>> CudaDevice::load(const std::string &text, const std::string &what, const std::vector<std::string> &names) {
  enter();
  std::vector<char> log(1 << 14);
  JitOption options[] = {JitOption::ErrorLogBuffer, JitOption::ErrorLogBufferBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  Handle module = nullptr;
  Code code = driver.call().moduleLoadDataEx(&module, text.c_str(), 2, options, values);
  if (Status status = driver.check(code, words + ": loading " + what); !status.ok())
    return log[0] ? Status(status.code(), status.message() + "\n" + log.data()) : status;
  modules.push_back(module);
  std::vector<Handle> functions;
  for (const std::string &name : names) {
    Handle function = nullptr;
    code = driver.call().moduleGetFunction(&function, module, name.c_str());
    if (Status status = driver.check(code, words + ": finding kernel '" + name + "'"); !status.ok())
      return status;
    functions.push_back(function);
  }
  return functions;
}

Result<DevicePointer> CudaDevice::allocate(uint64_t bytes, const std::string &what) const {
  enter();
  DevicePointer memory = 0;
  Code code = driver.call().memAlloc(&memory, bytes);
  if (code == Code::Success)
    return memory;
  std::string text = "cannot allocate " + what + " of " + std::to_string(bytes) + " bytes on " + words;
  if (code != Code::OutOfMemory)
    return driver.check(code, text);
  return Status::runFailed(text + ": " + std::to_string(freeBytes()) + " of its " + std::to_string(facts.bytes) + " bytes are free");
}

Status CudaDevice::write(DevicePointer target, const void *source, uint64_t bytes) const {
  enter();
  Handle stream = nullptr;
  const Functions &call = driver.call();
  Code code = call.streamCreate(&stream, streamNonBlocking);
  if (code == Code::Success) {
    code = call.copyInAsync(target, source, bytes, stream);
    Code end = call.streamSynchronize(stream);
    code = code == Code::Success ? end : code;
    call.streamDestroy(stream);
  }
  return driver.check(code, words + ": a copy to the device");
}

Status CudaDevice::upload(const void *source, uint64_t bytes, const std::string &what, DevicePointer &to) const {
  if (bytes == 0)
    return {};
  Result<DevicePointer> memory = allocate(bytes, what);
  if (!memory.ok())
    return memory.status();
  to = *memory;
  return write(to, source, bytes);
}

Result<void *> CudaDevice::allocatePinned(uint64_t bytes, const std::string &what) const {
  enter();
  void *memory = nullptr;
  Code code = driver.call().memHostAlloc(&memory, bytes, 0);
  if (code == Code::Success)
    return memory;
  return driver.check(code, "cannot allocate " + std::to_string(bytes) + " bytes of page-locked memory for " + what);
}

uint64_t CudaDevice::freeBytes() const {
  size_t free = 0, total = 0;
  enter();
  return driver.call().memGetInfo(&free, &total) == Code::Success ? free : 0;
}

Status CudaDevice::reach(const CudaDevice &other) const {
  int can = 0;
  enter();
  Code code = driver.call().deviceCanAccessPeer(&can, number, other.number);
  if (code == Code::Success && can)
    code = driver.call().contextEnablePeerAccess(other.context, 0);
  return code == Code::PeerAccessAlreadyEnabled ? Status() : driver.check(code, words + ": reaching the memory of " + other.words);
}

Result<std::string> CudaDevice::uuid() const {
  Uuid uuid;
  if (Status status = driver.check(driver.call().deviceGetUuid(&uuid, number), "asking who " + words + " is"); !status.ok())
    return status;
  std::string text = "GPU-";
  for (unsigned char byte : uuid.bytes)
    for (int digit : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[digit];
  return text;
}

} // namespace npar::engine::cuda

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach/mach.h>
#include <sys/sysctl.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <system_error>

#include "base/system/files.h"
#include "base/system/machine.h"
#include "base/system/process.h"
#include "base/system/threads.h"
#include "gpt2/runtime.h"

namespace gpt2 {

// -- files.h

void allow_large_pages(void*, std::size_t) noexcept {}  // pages have 16 KiB, or the system decides

// -- machine.h

CpuSet cpus_of_thread() noexcept { return {}; }  // the system binds no thread to a CPU

int cores_of(const std::vector<int>& cpus) {
  int cores = 0;
  std::size_t size = sizeof cores;
  const bool is_known = sysctlbyname("hw.physicalcpu", &cores, &size, nullptr, 0) == 0;
  return std::clamp(is_known ? cores : 1, 1, std::max(1, static_cast<int>(cpus.size())));
}

double cpu_quota() { return 0.0; }

bool may_use_tiles() noexcept { return false; }  // no Mac has a CPU with AMX of x86-64

bool has_dot_products() noexcept {
  int value = 0;
  std::size_t size = sizeof value;
  return sysctlbyname("hw.optional.arm.FEAT_DotProd", &value, &size, nullptr, 0) == 0 && value != 0;
}

// Inactive pages belong to files and programs that have not used them for a while. The system takes
// them away, or compresses them, for whoever needs memory.
std::size_t available_memory() {
  vm_statistics64 statistics = {};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  const mach_port_t host = mach_host_self();
  const kern_return_t result =
      host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&statistics), &count);
  mach_port_deallocate(mach_task_self(), host);
  if (result != KERN_SUCCESS) return SIZE_MAX;
  return (std::size_t{statistics.free_count} + statistics.inactive_count) * vm_page_size;
}

// -- process.h

// The system gives the path as the program was started, which may lead over links (dyld(3)).
std::filesystem::path program_file() {
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string path(size, '\0');
  if (_NSGetExecutablePath(path.data(), &size) != 0) return {};
  std::error_code error;
  return std::filesystem::canonical(path.c_str(), error);
}

std::filesystem::path library_file() {
  Dl_info library{};
  std::error_code error;
  if (dladdr(&kHomeVariable, &library) == 0) return {};
  return std::filesystem::canonical(library.dli_fname, error);
}

const BuiltInFile* find_built_in(const std::filesystem::path&) { return nullptr; }

// -- threads.h

// The system allows a process thousands of threads, and takes memory for the stack of a thread only
// when the thread uses it.
int spare_threads(int wanted) noexcept { return wanted; }

}  // namespace gpt2

#include <dlfcn.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/system/files.h"
#include "base/system/machine.h"
#include "base/system/process.h"
#include "gpt2/runtime.h"

// Its address is null if the program does not define it.
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const gpt2::BuiltInFile gpt2_built_in_files[];

namespace gpt2 {

// -- files.h

void allow_large_pages(void* begin, std::size_t bytes) noexcept {
  madvise(begin, bytes, MADV_HUGEPAGE);
}

// -- machine.h

namespace {

// Returns the directories of the control groups of this process that have `controller`, such as
// "cpu", and of the groups that contain these: a limit of any of them applies. They are those of
// version 2 and of version 1. A directory need not exist: in a container, the system may name
// groups that lie outside of it. A line of the file is "3:cpu,cpuacct:/group", or "0::/group" for
// version 2.
std::vector<std::string> control_groups(const std::string& controller) {
  const std::string root = "/sys/fs/cgroup";
  std::vector<std::string> directories = {root, root + '/' + controller};
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    const bool is_version_2 = controllers == ",,";
    if (!is_version_2 && controllers.find(',' + controller + ',') == line.npos) continue;
    std::string group = line.substr(second + 1);
    for (; group.size() > 1 && group.starts_with('/'); group.resize(group.rfind('/'))) {
      directories.push_back(directories[is_version_2 ? 0 : 1] + group);
    }
  }
  return directories;
}

}  // namespace

CpuSet cpus_of_thread() noexcept {
  static_assert(CpuSet().size() == CPU_SETSIZE);
  cpu_set_t set;
  CPU_ZERO(&set);
  CpuSet cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu) cpus[cpu] = CPU_ISSET(cpu, &set);
  return cpus;
}

int cores_of(const std::vector<int>& cpus) {
  std::set<std::pair<int, int>> cores;  // (package, core); equal for the hyperthreads of a core
  for (const int cpu : cpus) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    int package = 0;
    int core = cpu;
    std::ifstream(topology + "physical_package_id") >> package;
    if (!(std::ifstream(topology + "core_id") >> core)) core = cpu;
    cores.emplace(package, core);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

double cpu_quota() {
  double least = 0.0;
  for (const std::string& group : control_groups("cpu")) {
    double quota = 0.0, period = 0.0;
    // cpu.max belongs to version 2 of control groups, and contains "max" if there is no limit.
    if (!(std::ifstream(group + "/cpu.max") >> quota >> period)) {
      std::ifstream(group + "/cpu.cfs_quota_us") >> quota;
      std::ifstream(group + "/cpu.cfs_period_us") >> period;
    }
    if (quota <= 0.0 || period <= 0.0) continue;
    least = least == 0.0 ? quota / period : std::min(least, quota / period);
  }
  return least;
}

#if defined(__x86_64__)

// Without the permission, the instructions of the tiles fail, because the registers make the state
// that Linux saves for a thread 8 KiB larger.
bool may_use_tiles() noexcept {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(2)
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#elif defined(__aarch64__)

bool has_dot_products() noexcept {
  constexpr unsigned long kAsimdDp = 1ul << 20;  // HWCAP_ASIMDDP: the dot product instructions
  return (getauxval(AT_HWCAP) & kAsimdDp) != 0;
}

#endif

namespace {

// Returns the number in a file, or SIZE_MAX if the file does not exist or has no number. (The file
// of a control group without a limit contains "max".)
std::size_t number_in(const std::string& file) {
  std::size_t number = 0;
  return std::ifstream(file) >> number ? number : SIZE_MAX;
}

std::size_t free_in_system() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::size_t kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes << 10;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return SIZE_MAX;
}

std::size_t free_in_group(const std::string& limit_file, const std::string& used_file) {
  const std::size_t limit = number_in(limit_file);
  const std::size_t used = number_in(used_file);
  return limit == SIZE_MAX || used == SIZE_MAX ? SIZE_MAX : limit - std::min(limit, used);
}

}  // namespace

std::size_t available_memory() {
  std::size_t least = free_in_system();
  for (const std::string& group : control_groups("memory")) {
    least = std::min(
        {least, free_in_group(group + "/memory.max", group + "/memory.current"),
         free_in_group(group + "/memory.limit_in_bytes", group + "/memory.usage_in_bytes")});
  }
  return least;
}

// -- process.h

namespace {

std::filesystem::path find_library_file() {
  constexpr std::uintptr_t kMaxHeaders = 4096;
  Dl_info library{};
  if (dladdr(&kHomeVariable, &library) == 0) return {};
  // The program headers are at the beginning of a file. If they are those of the program, the name
  // is argv[0], which may be anything.
  const auto begin = reinterpret_cast<std::uintptr_t>(library.dli_fbase);
  if (getauxval(AT_PHDR) - begin < kMaxHeaders) return {};
  std::error_code error;
  return std::filesystem::canonical(library.dli_fname, error);
}

// Found when the library is loaded, because its name may be relative to the working directory.
const std::filesystem::path kLibraryFile = find_library_file();

}  // namespace

std::filesystem::path program_file() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::filesystem::path library_file() { return kLibraryFile; }

const BuiltInFile* find_built_in(const std::filesystem::path& path) {
  const BuiltInFile* file = gpt2_built_in_files;
  while (file != nullptr && file->path != nullptr && path != file->path) ++file;
  return file != nullptr && file->path != nullptr ? file : nullptr;
}

}  // namespace gpt2

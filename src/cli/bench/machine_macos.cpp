#include <mach/mach.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <optional>

#include "cli/bench/machine.h"

namespace gpt2::cli {

std::optional<double> busy_seconds_of_system() {
  host_cpu_load_info load = {};
  mach_msg_type_number_t count = HOST_CPU_LOAD_INFO_COUNT;
  const mach_port_t host = mach_host_self();
  const kern_return_t result =
      host_statistics(host, HOST_CPU_LOAD_INFO, reinterpret_cast<host_info_t>(&load), &count);
  mach_port_deallocate(mach_task_self(), host);
  if (result != KERN_SUCCESS) return std::nullopt;
  double ticks = 0.0;
  for (const int state : {CPU_STATE_USER, CPU_STATE_SYSTEM, CPU_STATE_NICE}) {
    ticks += load.cpu_ticks[state];
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string cpu_name() {
  char name[256] = {};
  std::size_t size = sizeof name - 1;
  const bool is_known = sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0;
  return is_known ? name : "unknown";
}

}  // namespace gpt2::cli

#include <windows.h>

#include <chrono>

#include "cli/bench/machine.h"

namespace gpt2::cli {
namespace {

double seconds_of(const FILETIME& time) {
  constexpr double kHigh = 4294967296.0, kTick = 1e-7;
  return kTick * (kHigh * time.dwHighDateTime + time.dwLowDateTime);
}

}  // namespace

// The time in the kernel includes the idle time.
CpuUse cpu_use() {
  FILETIME idle = {}, kernel = {}, user = {}, own_kernel = {}, own_user = {}, ignored = {};
  GetSystemTimes(&idle, &kernel, &user);
  GetProcessTimes(GetCurrentProcess(), &ignored, &ignored, &own_kernel, &own_user);
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  return {.seconds = now.count(),
          .all_seconds = seconds_of(kernel) - seconds_of(idle) + seconds_of(user),
          .own_seconds = seconds_of(own_kernel) + seconds_of(own_user)};
}

double forced_switches() { return 0.0; }  // Windows does not count them

std::string cpu_name() {
  char name[256] = {};
  DWORD bytes = sizeof name - 1;
  const LSTATUS status =
      RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                   "ProcessorNameString", RRF_RT_REG_SZ, nullptr, name, &bytes);
  return status == ERROR_SUCCESS ? name : "unknown";
}

}  // namespace gpt2::cli

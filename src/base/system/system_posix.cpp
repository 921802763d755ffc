#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/paths.h"
#include "base/system/files.h"
#include "base/system/process.h"
#include "base/system/threads.h"

namespace gpt2 {

// -- files.h

namespace {

[[noreturn]] void fail_with_errno(const char* what) {
  throw FileFailure{what, {errno, std::generic_category()}};
}

}  // namespace

// Without O_NONBLOCK, opening a pipe would block until a writer opens it.
ReadableFile::ReadableFile(const std::filesystem::path& path)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_ < 0) fail_with_errno("cannot open");
  struct stat status {};
  if (fstat(static_cast<int>(file_), &status) != 0) {
    const FileFailure failure{"cannot examine", {errno, std::generic_category()}};
    close(static_cast<int>(file_));
    throw failure;
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (S_ISDIR(status.st_mode)) kind_ = Kind::directory;
  if (S_ISREG(status.st_mode)) kind_ = Kind::regular;
}

ReadableFile::~ReadableFile() { close(static_cast<int>(file_)); }

std::shared_ptr<const void> ReadableFile::map() const {
  const auto size = static_cast<std::size_t>(size_);
  void* const address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, static_cast<int>(file_), 0);
  if (address == MAP_FAILED) fail_with_errno("cannot map");
  return {address, [size](void* mapped) { munmap(mapped, size); }};
}

std::size_t ReadableFile::read(std::byte* bytes, std::size_t count, std::uint64_t offset) const {
  for (;;) {
    const ssize_t read = pread(static_cast<int>(file_), bytes, count, static_cast<off_t>(offset));
    if (read >= 0) return static_cast<std::size_t>(read);
    if (errno != EINTR) fail_with_errno("cannot read");
  }
}

void drop_mapped_pages(const void* begin, std::size_t bytes) noexcept {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = address / page * page;
  madvise(reinterpret_cast<void*>(first), address + bytes - first, MADV_DONTNEED);
}

std::filesystem::path path_of(std::string_view text) { return text; }

// -- process.h

int process_id() noexcept { return getpid(); }

bool fill_with_random(std::span<std::byte> bytes) noexcept {
  return getentropy(bytes.data(), bytes.size()) == 0;
}

const char* const kHomeVariable = "HOME";

std::filesystem::path path_in_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::filesystem::path home_directory() { return path_in_environment(kHomeVariable); }

// -- threads.h

void wait_while(const std::atomic<int>& number, int old) noexcept {
  number.wait(old, std::memory_order_acquire);
}

void wake_one(std::atomic<int>& number) noexcept { number.notify_one(); }
void wake_all(std::atomic<int>& number) noexcept { number.notify_all(); }

namespace {

// Blocks signals in this thread as long as the object lives. Threads that are started meanwhile
// inherit this.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t signals;
    sigfillset(&signals);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF}) {
      sigdelset(&signals, signal);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &callers_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &callers_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t callers_;
};

}  // namespace

void start_without_signals(const std::function<void()>& start) {
  const SignalsBlocked blocked;
  start();
}

void set_default_float_state() noexcept { std::fesetenv(FE_DFL_ENV); }

DefaultFloatState::DefaultFloatState() noexcept {
  std::fegetenv(&callers_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatState::~DefaultFloatState() { std::fesetenv(&callers_); }

}  // namespace gpt2

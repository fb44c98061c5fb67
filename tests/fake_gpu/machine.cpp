#include "tests/fake_gpu/machine.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>

namespace fake_gpu {
namespace {
constexpr std::size_t kBytes = std::size_t{1} << 30, kPage = 4096;

auto words(const auto& values) -> std::string {
  std::string text;
  for (const auto value : values) text += " " + std::to_string(value);
  return text;
}
}  // namespace

auto Machine::asked() -> Machine* {
  const char* const script = std::getenv("FAKE_GPU_MACHINE");
  if (script == nullptr) return nullptr;
  static Machine one(script);
  return &one;
}

Machine::Machine(const char* script) : memory_(::memfd_create("gpu", 0)) {
  if (::ftruncate(memory_, kBytes) != 0) std::abort();
  base_ = static_cast<std::byte*>(
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0));
  std::array<int, 2> ends = {};
  if (base_ == MAP_FAILED || ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) std::abort();
  process_ = ends[0];
  const auto file = std::to_string(memory_),
             base = std::to_string(std::bit_cast<std::uint64_t>(base_));
  if (::fork() == 0) {
    ::dup2(ends[1], STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::execlp("python3", "python3", "-B", script, file.c_str(), base.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
}

auto Machine::allocate(std::size_t bytes) -> std::uint64_t {
  const auto room = (bytes + kPage - 1) / kPage * kPage + 2 * kPage;
  if (used_ + room > kBytes) return 0;
  const auto address = std::bit_cast<std::uint64_t>(base_ + used_ + kPage);
  used_ += room;
  sizes_[address] = bytes;
  return address;
}
void Machine::free(std::uint64_t address) {
  sizes_.erase(address);
}

auto Machine::run(const std::string& ptx, const Dims& grid, const Dims& threads, unsigned ranks,
                  const std::vector<std::uint64_t>& arguments) -> std::string {
  auto request =
      words(grid) + words(threads) + " " + std::to_string(ranks) + "\n" + words(arguments) + "\n";
  for (const auto& [address, size] : sizes_)
    request += " " + std::to_string(address) + " " + std::to_string(size);
  request += "\n" + std::to_string(ptx.size()) + "\n" + ptx;
  for (std::size_t sent = 0; sent < request.size();) {
    const auto count = ::write(process_, request.data() + sent, request.size() - sent);
    if (count <= 0) return "the machine is gone";
    sent += static_cast<std::size_t>(count);
  }
  std::string answer;
  for (char c = 0; ::read(process_, &c, 1) == 1 && c != '\n';) answer += c;
  return answer == "done" ? "" : answer.empty() ? "the machine is gone" : answer;
}

}  // namespace fake_gpu

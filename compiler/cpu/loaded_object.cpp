#include "compiler/cpu/loaded_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace assay {
namespace {

auto rounded_up(std::uint64_t bytes, std::uint64_t to) -> std::uint64_t {
  return (bytes + to - 1) / to * to;
}

/// `jmp *2(%rip)`, two bytes of nothing, the address: functions of this process may be further away
/// than a call reaches.
constexpr std::array<std::uint8_t, 8> kJump = {0xff, 0x25, 0x02, 0x00, 0x00, 0x00, 0x66, 0x90};
constexpr std::uint64_t kStubBytes = 16;

}  // namespace

void LoadedObject::Unmap::operator()(std::byte* memory) const {
  ::munmap(memory, bytes);
}

auto LoadedObject::find(std::string_view function) const -> const void* {
  const auto known = functions_.find(function);
  return known == functions_.end() ? nullptr : known->second;
}

class ObjectLoader {
 public:
  explicit ObjectLoader(std::string_view file) : file_(file) {}

  auto run() -> Result<LoadedObject> {
    ASSAY_TRY_VOID(headers());
    ASSAY_TRY_VOID(places());
    ASSAY_TRY_VOID(memory());
    for (std::size_t i = 0; i < sections_.size(); ++i)
      if (place_[i])
        std::ranges::copy(*contents(sections_[i]), reinterpret_cast<char*>(base() + *place_[i]));
    ASSAY_TRY_VOID(stubs());
    for (const auto& section : sections_)
      if (section.sh_type == SHT_RELA) ASSAY_TRY_VOID(relocations(section));
    ASSAY_TRY_VOID(functions());
    if (::mprotect(base(), code_bytes_, PROT_READ | PROT_EXEC) != 0 ||
        (code_bytes_ < all_bytes_ &&
         ::mprotect(base() + code_bytes_, all_bytes_ - code_bytes_, PROT_READ) != 0))
      return unsupported("code: the system lets nobody run it");
    return std::move(made_);
  }

 private:
  static auto broken(std::string_view what) -> std::unexpected<Error> {
    return bad_input("object: {}", what);
  }
  [[nodiscard]] auto base() const -> std::byte* { return made_.memory_.get(); }

  template <class T>
  [[nodiscard]] auto read(std::uint64_t offset) const -> std::optional<T> {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] auto contents(const Elf64_Shdr& section) const -> std::optional<std::string_view> {
    if (section.sh_offset > file_.size() || file_.size() - section.sh_offset < section.sh_size)
      return std::nullopt;
    return file_.substr(section.sh_offset, section.sh_size);
  }

  auto headers() -> Result<void> {
    const auto header = read<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_type != ET_REL || header->e_shentsize != sizeof(Elf64_Shdr))
      return broken("not a relocatable ELF file");
    if (header->e_machine != EM_X86_64)
      return unsupported("object: machine code of others than x86-64 is not loaded");
    for (std::size_t i = 0; i < header->e_shnum; ++i) {
      const auto section = read<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return broken("a section's header is outside the file");
      sections_.push_back(*section);
      if (section->sh_type == SHT_SYMTAB) symbols_ = *section;
    }
    if (symbols_.sh_type != SHT_SYMTAB || symbols_.sh_link >= sections_.size() ||
        !contents(symbols_) || !contents(sections_[symbols_.sh_link]))
      return broken("no symbols");
    return {};
  }

  /// Code first, then jumps out of it, then on pages of its own what is only read. Nobody unwinds.
  auto places() -> Result<void> {
    place_.resize(sections_.size());
    const auto lay = [&](bool is_code) -> Result<void> {
      for (std::size_t i = 0; i < sections_.size(); ++i) {
        const auto& one = sections_[i];
        if ((one.sh_flags & SHF_ALLOC) == 0 || one.sh_size == 0 ||
            one.sh_type == SHT_X86_64_UNWIND || ((one.sh_flags & SHF_EXECINSTR) != 0) != is_code)
          continue;
        if ((one.sh_flags & SHF_WRITE) != 0 || one.sh_type != SHT_PROGBITS)
          return unsupported("object: a section that is written");
        if (!contents(one) || one.sh_addralign > page_) return broken("a section outside the file");
        all_bytes_ = rounded_up(all_bytes_, std::max<std::uint64_t>(one.sh_addralign, 1));
        place_[i] = all_bytes_;
        all_bytes_ += one.sh_size;
      }
      return {};
    };
    ASSAY_TRY_VOID(lay(true));
    stub_of_.resize(symbols_.sh_size / sizeof(Elf64_Sym));
    all_bytes_ = rounded_up(all_bytes_, kStubBytes);
    for (std::size_t i = 1; i < stub_of_.size(); ++i) {
      if (symbol(i)->st_shndx != SHN_UNDEF) continue;
      stub_of_[i] = all_bytes_;
      all_bytes_ += kStubBytes;
    }
    code_bytes_ = all_bytes_ = rounded_up(all_bytes_, page_);
    ASSAY_TRY_VOID(lay(false));
    all_bytes_ = rounded_up(all_bytes_, page_);
    return {};
  }

  auto memory() -> Result<void> {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 30;  // what relative addresses reach
    if (all_bytes_ == 0) return {};
    if (all_bytes_ > kMost) return unsupported("object: {} bytes of code", all_bytes_);
    void* const made =
        ::mmap(nullptr, all_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return unsupported("object: no memory for {} bytes", all_bytes_);
    made_.memory_ = {static_cast<std::byte*>(made), {all_bytes_}};
    return {};
  }

  [[nodiscard]] auto symbol(std::size_t i) const -> std::optional<Elf64_Sym> {
    if (i >= stub_of_.size()) return std::nullopt;
    return read<Elf64_Sym>(symbols_.sh_offset + i * sizeof(Elf64_Sym));
  }
  [[nodiscard]] auto name_of(const Elf64_Sym& symbol) const -> std::string {
    const auto names = *contents(sections_[symbols_.sh_link]);
    if (symbol.st_name >= names.size()) return {};
    const auto rest = names.substr(symbol.st_name);
    return std::string(rest.substr(0, rest.find('\0')));
  }
  /// Where a symbol stands in the memory; nothing for sections that are not loaded.
  [[nodiscard]] auto place_of(std::size_t i) const -> std::optional<std::uint64_t> {
    const auto one = symbol(i);
    if (!one) return std::nullopt;
    if (stub_of_[i]) return stub_of_[i];
    if (one->st_shndx >= sections_.size() || !place_[one->st_shndx] ||
        one->st_value > sections_[one->st_shndx].sh_size)
      return std::nullopt;
    return *place_[one->st_shndx] + one->st_value;
  }

  auto stubs() -> Result<void> {
    for (std::size_t i = 0; i < stub_of_.size(); ++i) {
      if (!stub_of_[i]) continue;
      const auto name = name_of(*symbol(i));
      void* const address = ::dlsym(RTLD_DEFAULT, name.c_str());
      if (address == nullptr) return unsupported("object: nobody has {}", name);
      std::memcpy(base() + *stub_of_[i], kJump.data(), kJump.size());
      std::memcpy(base() + *stub_of_[i] + kJump.size(), &address, sizeof address);
    }
    return {};
  }

  auto relocations(const Elf64_Shdr& list) -> Result<void> {
    if (list.sh_info >= sections_.size()) return broken("relocations of no section");
    if (!place_[list.sh_info]) return {};
    if (!contents(list)) return broken("relocations outside the file");
    const auto& section = sections_[list.sh_info];
    for (std::uint64_t i = 0; i < list.sh_size / sizeof(Elf64_Rela); ++i) {
      const auto one = *read<Elf64_Rela>(list.sh_offset + i * sizeof(Elf64_Rela));
      const auto place = place_of(ELF64_R_SYM(one.r_info));
      if (!place) return broken("a relocation to what is not loaded");
      const auto type = ELF64_R_TYPE(one.r_info);
      const bool is_wide = type == R_X86_64_64 || type == R_X86_64_PC64;
      if (!is_wide && type != R_X86_64_PC32 && type != R_X86_64_PLT32)
        return unsupported("object: relocation {}", type);
      const std::uint64_t bytes = is_wide ? 8 : 4;
      if (one.r_offset > section.sh_size || section.sh_size - one.r_offset < bytes)
        return broken("a relocation outside its section");
      auto* const at = base() + *place_[list.sh_info] + one.r_offset;
      auto value = reinterpret_cast<std::uint64_t>(base() + *place) +
                   static_cast<std::uint64_t>(one.r_addend);
      if (type != R_X86_64_64) value -= reinterpret_cast<std::uint64_t>(at);
      const auto distance = static_cast<std::int64_t>(value);
      if (!is_wide && distance != static_cast<std::int32_t>(distance))
        return broken("a relocation that reaches too far");
      std::memcpy(at, &value, bytes);
    }
    return {};
  }

  auto functions() -> Result<void> {
    for (std::size_t i = 0; i < stub_of_.size(); ++i) {
      const auto one = *symbol(i);
      if (ELF64_ST_TYPE(one.st_info) != STT_FUNC || stub_of_[i]) continue;
      const auto place = place_of(i);
      if (!place || *place >= code_bytes_) return broken("a function outside the code");
      made_.functions_.emplace(name_of(one), base() + *place);
    }
    return {};
  }

  std::string_view file_;
  LoadedObject made_;
  std::vector<Elf64_Shdr> sections_;
  Elf64_Shdr symbols_{};
  std::vector<std::optional<std::uint64_t>> place_;    ///< by section, from the base
  std::vector<std::optional<std::uint64_t>> stub_of_;  ///< by symbol that is defined elsewhere
  std::uint64_t code_bytes_ = 0, all_bytes_ = 0;
  std::uint64_t page_ = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
};

auto LoadedObject::load(std::string_view object) -> Result<LoadedObject> {
  return ObjectLoader(object).run();
}

}  // namespace assay

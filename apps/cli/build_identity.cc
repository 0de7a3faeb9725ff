// The build id that the linker notes in the program (ELF, NT_GNU_BUILD_ID).
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>

#include "apps/cli/version.h"

namespace orrery::cli {
namespace {

std::string id_of_notes(const char* at, std::size_t size) {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  ElfW(Nhdr) note;
  while (size >= sizeof note) {
    std::memcpy(&note, at, sizeof note);
    const std::size_t name = padded(note.n_namesz), text = padded(note.n_descsz);
    if (size < sizeof note + name + text) break;
    const auto* id = reinterpret_cast<const unsigned char*>(at + sizeof note + name);
    std::string out;
    if (note.n_type == NT_GNU_BUILD_ID) {
      for (std::size_t i = 0; i < note.n_descsz; ++i) out += fmt::format("{:02x}", id[i]);
      return out;
    }
    at += sizeof note + name + text;
    size -= sizeof note + name + text;
  }
  return "";
}

// Whether the object holds the code of this file: it is the program, or the module of Python.
bool is_own(const dl_phdr_info& info) {
  const auto here = reinterpret_cast<ElfW(Addr)>(&id_of_notes);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const ElfW(Addr) begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && here >= begin && here < begin + part.p_memsz) return true;
  }
  return false;
}

int look(dl_phdr_info* info, std::size_t, void* out) {
  if (!is_own(*info)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    const std::string id = id_of_notes(at, part.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(out) = id;
  }
  return 1;
}

}  // namespace

std::string build_identity() {
  std::string out;
  dl_iterate_phdr(look, &out);
  return out;
}

}  // namespace orrery::cli

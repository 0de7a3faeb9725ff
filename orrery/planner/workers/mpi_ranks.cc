#include "orrery/planner/workers/mpi_ranks.h"

#include <fmt/format.h>

#include <cstdlib>

#include "orrery/base/error.h"

#ifdef ORRERY_MPI
#include <mpi.h>
#endif

namespace orrery {
namespace {

// Open MPI's mpirun sets the first, launchers that speak PMI (srun, flux) the other one.
constexpr std::initializer_list<const char*> kSizes = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

// The first of the variables that is set to a whole number.
int of_environment(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (end != text && *end == '\0' && value >= 0 && value < 1'000'000)
      return static_cast<int>(value);
  }
  return otherwise;
}

#ifdef ORRERY_MPI

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    // Open MPI's own way of sending messages, unless the user names another one: a look for all
    // others takes 0.2 s, and messages here are few and short.
    setenv("OMPI_MCA_pml", "ob1", 0);
    // Messages are sent by one thread at a time, which need not be the first one.
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
    if (level < MPI_THREAD_SERIALIZED)
      throw std::runtime_error("this MPI library has no MPI_THREAD_SERIALIZED");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiRanks() override {
    finish(true);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(int to, std::string text) override {
    finish(false);
    auto sent = std::make_unique<Sent>();
    sent->text = std::move(text);
    MPI_Isend(sent->text.data(), static_cast<int>(sent->text.size()), MPI_BYTE, to, 0,
              MPI_COMM_WORLD, &sent->request);
    sent_.push_back(std::move(sent));
  }

  std::optional<Message> receive() override {
    int there = 0;
    MPI_Message message;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &message, &status);
    if (there == 0) return std::nullopt;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    Message out{status.MPI_SOURCE, std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Mrecv(out.text.data(), size, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    return out;
  }

 private:
  struct Sent {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  // Forgets the messages that have left. `last`: waits for none that its rank no longer reads; the
  // texts of such messages stay until the process ends.
  void finish(bool last) {
    std::erase_if(sent_, [last](std::unique_ptr<Sent>& s) {
      int done = 0;
      MPI_Test(&s->request, &done, MPI_STATUS_IGNORE);
      if (done == 0 && last) s.release();  // NOLINT(bugprone-unused-return-value)
      return done != 0 || last;
    });
  }

  int rank_ = 0, size_ = 1;
  std::vector<std::unique_ptr<Sent>> sent_;
};

#endif

}  // namespace

int launched_rank() { return of_environment({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, 0); }

#ifdef ORRERY_MPI

std::string mpi_library() {
  return fmt::format("Open MPI {}.{}.{}", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                     OMPI_RELEASE_VERSION);
}

std::unique_ptr<Ranks> join_mpi() {
  // srun with PMIx tells the rank alone.
  const int size = of_environment(kSizes, std::getenv("PMIX_RANK") != nullptr ? 0 : 1);
  return size == 1 ? nullptr : std::make_unique<MpiRanks>();
}

void abort_mpi(int code) {
  int joined = 0;
  MPI_Initialized(&joined);
  if (joined != 0) MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

#else

std::string mpi_library() { return ""; }

std::unique_ptr<Ranks> join_mpi() {
  if (of_environment(kSizes, 1) > 1)
    throw InputError(
        "this program was built without MPI; install libopenmpi-dev and build it again, or start "
        "it once");
  return nullptr;
}

void abort_mpi(int code) { std::_Exit(code); }

#endif

}  // namespace orrery

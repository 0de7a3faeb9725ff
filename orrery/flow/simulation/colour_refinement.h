// Colour refinement: the coarsest equitable partition of the elements of a structure.
//
// Every element begins with a colour. An element's signature is a hash of the colours around it;
// elements of one colour that differ in their signatures get different colours, until none differ.
// A signature is computed again only if the surroundings of the element have changed. When a class
// splits, its largest part keeps the colour. The cost is therefore about O(size log size)
// (Hopcroft's method).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery {

class ColourRefinement {
 public:
  // `colour`: of each element at first, 0 .. colours - 1.
  ColourRefinement(std::vector<std::int32_t> colour, std::int32_t colours);

  // Refines until no class splits. `Structure` has
  //   std::uint64_t signature(std::size_t element) const   from colours() as they are now
  //   void neighbours(std::size_t element, visit) const    calls visit(e) for every element e whose
  //                                                        signature depends on the element's
  //                                                        colour
  template <class Structure>
  void refine(const Structure& structure) {
    while (!dirty_.empty()) {
      signatures_.clear();
      for (std::int32_t e : dirty_)
        signatures_.push_back(structure.signature(static_cast<std::size_t>(e)));
      split();
      dirty_.clear();
      for (std::int32_t e : changed_) {
        structure.neighbours(static_cast<std::size_t>(e), [&](std::size_t n) {
          if (marked_[n] == 0) marked_[n] = 1, dirty_.push_back(static_cast<std::int32_t>(n));
        });
      }
    }
  }

  std::int32_t colour(std::size_t element) const { return colour_[element]; }
  std::int32_t colours() const { return colours_; }

 private:
  struct Signed {
    std::int32_t colour;
    std::uint64_t signature;
    std::int32_t element;
  };
  // A class some of whose elements were signed in this round.
  struct Round {
    std::uint64_t first = 0;  // signature of the first one
    std::int32_t elements = 0;
    bool uniform = true;  // all signatures are equal
  };

  // Gives new colours to the dirty elements that differ from their class; lists them in changed_.
  void split();
  void sort_candidates();
  void split_class(std::size_t begin, std::size_t end);

  std::vector<std::int32_t> colour_;
  std::int32_t colours_;
  std::vector<std::int32_t> members_;           // number of elements of each colour
  std::vector<std::uint64_t> class_signature_;  // of the elements of a colour that are not dirty
  std::vector<std::int32_t> dirty_, changed_;
  std::vector<char> marked_;               // elements in dirty_
  std::vector<std::uint64_t> signatures_;  // of dirty_
  std::vector<Signed> candidates_;
  std::vector<Round> rounds_;  // by colour
};

}  // namespace orrery

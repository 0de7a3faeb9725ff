Constant Tile 64;
Network N {
  Layer CONV1 {
    Type: CONV
    Stride { X: 2, Y: 2 }
    Dimensions { K: 64, C: 3, R: 7, S: 7, Y: 56, X: 56 }
    Dataflow {
      SpatialMap(1,1) K;
      TemporalMap(Tile,Tile) C;
      TemporalMap(Sz(R),Sz(R)) R;
      TemporalMap(Sz(S),Sz(S)) S;
      TemporalMap(Sz(R),1) Y;
      TemporalMap(Sz(S),1) X;
      Cluster(64, P);
      SpatialMap(1,1) C;
    }
  }
  Layer FC { Type: GEMM Dimensions { M: 5, N: 3, K: 8 }
    Dataflow { TemporalMap(1,1) N; SpatialMap(1,1) M; TemporalMap(4,4) K; Cluster(4, P); SpatialMap(1,1) K; } }
}

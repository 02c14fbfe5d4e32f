graph [
  directed 1
  label "searched/none"
  node [ id 0 label "sex" sensitive 1 ]
  node [ id 1 label "income" sensitive 0 ]
  node [ id 2 label "debt" sensitive 0 ]
  node [ id 3 label "education" sensitive 0 ]
  edge [ source 0 target 1 weight 1.0 count 10 ]
  edge [ source 0 target 3 weight 0.1 count 1 ]
  edge [ source 1 target 2 weight 0.9 count 9 ]
  edge [ source 1 target 3 weight 0.1 count 1 ]
  edge [ source 2 target 1 weight 0.1 count 1 ]
  edge [ source 3 target 1 weight 0.9 count 9 ]
]
